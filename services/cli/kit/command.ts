import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { FlagDefinition, FlagDefinitions } from '../../runtime/config/read-flags.ts'
import { onOrOff } from '../../runtime/config/setting-schemas.ts'
import { SETTINGS, type SettingName } from '../../runtime/config/settings.ts'

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
  readonly flags: { readonly [Name in keyof Flags]: z.output<Flags[Name]['schema']> }
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

/** A flag that a command has beside those of the settings. */
export const flag = <Schema extends z.ZodType>(
  schema: Schema,
  help: string,
  example: string,
  alias?: string,
): FlagDefinition<Schema> => ({ schema, help, example, ...(alias !== undefined && { alias }) })

export const settingFlag = <Name extends SettingName>(
  setting: Name,
): FlagDefinition<(typeof SETTINGS)[Name]['schema']> => ({ ...SETTINGS[setting], setting })

/** Flags of a command that another one needs too, as they were given: `signal backup ADDRESS --data-dir ./data`. */
export const flagsAgain = (texts: Readonly<Partial<Record<string, string>>>): string =>
  ['data-dir', 'market']
    .map((name) => (texts[name] === undefined ? '' : ` --${name} ${texts[name]}`))
    .join('')

export const switchFlag = (help: string): FlagDefinition<z.ZodType<boolean>> => ({
  schema: onOrOff(),
  help,
  example: '',
  isSwitch: true,
})

/** Flags that choose the folder of a market. */
export const FOLDER_FLAGS = { 'data-dir': settingFlag('DATA_DIR'), market: settingFlag('MARKET') } as const

/** An argument that is an id. @throws ServiceError `config_invalid` */
export function requireId(name: string, text = ''): string {
  const id = z.uuid().safeParse(text.toLowerCase())
  if (id.success) return id.data
  throw new ServiceError('config_invalid', {
    message: `${name} is ${JSON.stringify(text)}, which is no UUID. For example: 5c146b14-3c52-8afd-938a-375d0df1fbf6`,
  })
}
