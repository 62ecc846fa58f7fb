import { Writable } from 'node:stream'
import { runCommand } from '../run-command.ts'
import type { CommandContext } from './command.ts'

/** The output of a command: standard output, standard error, and both in their order. */
interface Written {
  out: string
  err: string
  said: string
}

/** Begins a command in this process; what it has written is known while it goes on. */
export function beginSignal(args: readonly string[], context: Partial<CommandContext> = {}) {
  const written: Written = { out: '', err: '', said: '' }
  const sink = (name: 'out' | 'err'): Writable =>
    new Writable({
      write(chunk, _encoding, done) {
        written[name] += String(chunk)
        written.said += String(chunk)
        done()
      },
    })
  const done = runCommand(args, {
    environment: {},
    signal: new AbortController().signal,
    now: Date.now,
    stdout: sink('out'),
    stderr: sink('err'),
    ...context,
  })
  return { written, done }
}

/** Runs a command in this process. @returns its exit code, and all that it wrote */
export async function runSignal(...args: readonly string[]): Promise<Readonly<Written> & { code: number }> {
  const { written, done } = beginSignal(args)
  return { code: await done, ...written }
}
