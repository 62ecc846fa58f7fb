import type { z } from 'zod'
import type { Clock } from '../../runtime/async/clock.ts'
import type { FlagDefinitions } from '../../runtime/config/read-flags.ts'

export type FlagValues<Flags extends FlagDefinitions> = {
  readonly [Name in keyof Flags]: z.output<Flags[Name]['schema']>
}

/** Where a command reads and writes, and when it is to stop. */
export interface CommandContext extends Pick<Clock, 'now'> {
  /** Data, and nothing else. */
  readonly stdout: NodeJS.WritableStream
  /** Progress and remarks, for people. */
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean }
  readonly environment: NodeJS.ProcessEnv
  /** Aborted by Ctrl-C; what was begun is then undone. */
  readonly signal: AbortSignal
}

export interface CommandInput<Flags extends FlagDefinitions = FlagDefinitions> extends CommandContext {
  readonly flags: FlagValues<Flags>
  /** The flags as they were written, where they were. */
  readonly texts: Readonly<Partial<Record<keyof Flags & string, string>>>
  /** What stands beside the flags, as many as the command names. */
  readonly operands: readonly string[]
}

/** One command: help, its page and how it is run all follow from this. */
export interface Command<Flags extends FlagDefinitions = FlagDefinitions> {
  readonly name: string
  /** One sentence. */
  readonly summary: string
  /** More, where the flags do not say it: sentences, one paragraph each. */
  readonly notes: readonly string[]
  /** Names of what it is given beside flags. */
  readonly operands: readonly string[]
  readonly flags: Flags
  /** Lines that work. */
  readonly examples: readonly string[]
  /**
   * @returns the exit code where it is not 0.
   * @throws ServiceError whose code gives the exit code.
   */
  // A method, so that commands with flags of their own stand in one table.
  run(input: CommandInput<Flags>): Promise<number | undefined>
}

/** Binds the flags of a command to what it reads of them. */
export const defineCommand = <const Flags extends FlagDefinitions>(command: Command<Flags>): Command<Flags> =>
  command
