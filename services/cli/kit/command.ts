import type { z } from 'zod'
import type { Clock } from '../../runtime/async/clock.ts'
import type { FlagDefinitions } from '../../runtime/config/read-flags.ts'

export type FlagValues<Flags extends FlagDefinitions> = {
  readonly [Name in keyof Flags]: z.output<Flags[Name]['schema']>
}

export interface CommandContext extends Pick<Clock, 'now'> {
  /** Data, and nothing else. */
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean }
  /** Progress and remarks, for people. */
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean }
  readonly environment: NodeJS.ProcessEnv
  /** Aborted by Ctrl-C; what was begun is then undone. */
  readonly signal: AbortSignal
}

export interface CommandInput<Flags extends FlagDefinitions = FlagDefinitions> extends CommandContext {
  readonly flags: FlagValues<Flags>
  /** The flags as they were typed; without those that were not. */
  readonly texts: Readonly<Partial<Record<keyof Flags & string, string>>>
  /** The arguments that are not flags, as many as the command names. */
  readonly operands: readonly string[]
}

/** One command; its help and its page are generated from this. */
export interface Command<Flags extends FlagDefinitions = FlagDefinitions> {
  readonly name: string
  readonly summary: string
  /** Paragraphs that say more than the flags do. */
  readonly notes?: readonly string[]
  readonly operands?: readonly string[]
  readonly flags: Flags
  /** Command lines that work as they are; tests run them. */
  readonly examples: readonly string[]
  /**
   * @returns the exit code where it is not 0.
   * @throws ServiceError whose code gives the exit code.
   */
  // A method, so that commands with flags of their own stand in one table.
  run(input: CommandInput<Flags>): Promise<number | void>
}

export const defineCommand = <const Flags extends FlagDefinitions>(command: Command<Flags>): Command<Flags> =>
  command

/** @example operandShown('key_id?') // '[key_id]' */
export const operandShown = (operand: string): string =>
  operand.endsWith('?') ? `[${operand.slice(0, -1)}]` : `<${operand}>`
