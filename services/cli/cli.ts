import { runCommand } from './run-command.ts'

/** Runs one command on this process' streams. Ctrl-C undoes what was begun; the second one ends it. @returns the exit code */
export async function cli(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const stopping = new AbortController()
  for (const [name, code] of Object.entries({ SIGINT: 130, SIGTERM: 143 }))
    process.on(name, () => {
      if (stopping.signal.aborted) process.exit(code)
      stopping.abort()
    })
  // The first write after a reader hung up fails, and that ends the command; later errors change nothing.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  return runCommand(args, {
    stdout: process.stdout,
    stderr: process.stderr,
    environment,
    signal: stopping.signal,
    now: Date.now,
  })
}
