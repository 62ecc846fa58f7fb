import { type ParseArgsConfig, parseArgs } from 'node:util'
import { ERRORS, type ErrorDefinition, isServiceError, ServiceError } from '../../contracts/errors.ts'
import { EXCHANGES, type Exchange } from '../../contracts/exchanges.ts'
import { TIMEFRAMES, type Timeframe } from '../../contracts/timeframes.ts'
import type { HistoryFeed } from './collect-histories.ts'

/** Which data a command reads. */
export interface DataSelection {
  readonly folder: string
  readonly exchanges?: readonly Exchange[]
  readonly coins?: readonly string[]
}

/** What the training commands need of the outside. */
export interface TrainingPorts {
  readonly openFeed: (selection: DataSelection) => HistoryFeed
  /** Results. */
  readonly out: (text: string) => void
  /** Progress and complaints, a line at a time. */
  readonly report: (line: string) => void
}

const USAGE_EXIT = 2

/** A flag that is missing, unknown or out of range; the caller is shown the usage. */
export class UsageError extends Error {}

/** Flags of a command, with the ones that choose the data. */
export const DATA_FLAGS = {
  data: { type: 'string' },
  exchanges: { type: 'string' },
  coins: { type: 'string' },
} as const satisfies ParseArgsConfig['options']

/** Words of a list flag that are all known, each once. */
export function listOf<Word extends string>(
  flag: string,
  text: string | undefined,
  known: readonly Word[],
): readonly Word[] | undefined {
  if (text === undefined) return undefined
  const words = text.split(',').map((word) => {
    const found = known.find((one) => one === word)
    if (found === undefined)
      throw new UsageError(`--${flag} ${word} is not known; known are ${known.join(', ')}`)
    return found
  })
  return [...new Set(words)]
}

/** @throws where the folder is missing or a name is unknown */
export function dataSelection(values: {
  readonly data?: string | undefined
  readonly exchanges?: string | undefined
  readonly coins?: string | undefined
}): DataSelection {
  const { data, exchanges, coins } = values
  if (data === undefined || data === '') throw new UsageError('--data <folder> is missing')
  const chosen = listOf('exchanges', exchanges, EXCHANGES)
  return {
    folder: data,
    ...(chosen === undefined ? {} : { exchanges: chosen }),
    ...(coins === undefined ? {} : { coins: coins.toUpperCase().split(',') }),
  }
}

export const timeframeList = (text: string | undefined): readonly Timeframe[] =>
  listOf('timeframes', text, TIMEFRAMES) ?? TIMEFRAMES

/** Parses flags; unknown ones and stray words end the command with its usage. */
export function readFlags<const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** Runs a command and answers its exit code; what it refuses is said in one line each. */
export async function runTraining(
  usage: string,
  { report }: Pick<TrainingPorts, 'report'>,
  work: () => Promise<void>,
): Promise<number> {
  try {
    await work()
    return 0
  } catch (error) {
    if (error instanceof UsageError) {
      report(error.message)
      report(`Usage: ${usage}`)
      return USAGE_EXIT
    }
    if (!isServiceError(error)) throw error
    const { code, message, nextStep }: ServiceError = error
    report(`error ${code}: ${message}`)
    report(nextStep)
    const { exitCode }: ErrorDefinition = ERRORS[code]
    return exitCode ?? 1
  }
}
