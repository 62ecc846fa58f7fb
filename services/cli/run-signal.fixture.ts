import { runCommand } from './run-command.ts'

/** Runs a command of the operator in this process. @returns its exit code, and all that it wrote */
export async function runSignal(
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly said: string }> {
  const said: string[] = []
  const stdout = { write: (text: string) => said.push(text) } as unknown as NodeJS.WritableStream
  const code = await runCommand(args, {
    environment: {},
    signal: new AbortController().signal,
    now: Date.now,
    stdout,
    stderr: stdout,
  })
  return { code, said: said.join('') }
}
