import { type ParseArgsConfig, parseArgs } from 'node:util'
import {
  ERRORS,
  type ErrorDefinition,
  isServiceError,
  reasonOf,
  ServiceError,
} from '../../contracts/errors.ts'
import { EXCHANGES } from '../../contracts/exchanges.ts'
import { TIMEFRAMES, type Timeframe } from '../../contracts/timeframes.ts'
import { modelDataOf, type VerdictModelData } from '../../services/engine/model.ts'
import type { DataSelection, Hearer } from './read-histories.ts'
import type { SeriesHistory } from './series-history.ts'

/** Outside parts that the training commands need. */
export interface TrainingPorts {
  readonly histories: (selection: DataSelection, hearer: Hearer) => AsyncIterable<SeriesHistory>
  readonly readText: (path: string) => string
  /** Results. */
  readonly out: (text: string) => void
  /** Progress and complaints, a line at a time. */
  readonly report: (line: string) => void
}

const USAGE_EXIT = 2

/** A flag that is missing, unknown or out of range; the caller is shown the usage. */
export class UsageError extends Error {}

/** The help for {@link DATA_FLAGS}. */
export const DATA_HELP = `  --data <folder>      a folder of candles; may be given several times
  --until DATE         leaves out bars that close after this date
  --exchanges A,B      only these exchanges
  --coins A,B          only these coins`

/** Flags that choose the data. */
export const DATA_FLAGS = {
  data: { type: 'string', multiple: true },
  until: { type: 'string' },
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

/** @throws UsageError where no folder is named, a name is unknown, or an instant is none */
export function dataSelection(
  values: {
    readonly data?: readonly string[] | undefined
    readonly until?: string | undefined
    readonly exchanges?: string | undefined
    readonly coins?: string | undefined
  },
  timeframes: readonly Timeframe[],
): DataSelection {
  const { data, until, exchanges, coins } = values
  if (data === undefined || data.includes('')) throw new UsageError('--data <folder> is missing')
  const chosen = listOf('exchanges', exchanges, EXCHANGES)
  const untilMs = until === undefined ? undefined : Date.parse(until)
  if (Number.isNaN(untilMs)) throw new UsageError(`--until ${until} is not a date such as 2025-07-01`)
  return {
    folders: data,
    timeframes,
    ...(untilMs === undefined ? {} : { until: untilMs }),
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

/** @throws ServiceError `config_invalid` for a file that cannot be read or is no model */
export function givenModel({ readText }: Pick<TrainingPorts, 'readText'>, path: string): VerdictModelData {
  let data: unknown
  try {
    data = JSON.parse(readText(path))
  } catch (cause) {
    throw new ServiceError('config_invalid', {
      message: `The model file ${path} cannot be read: ${reasonOf(cause)}`,
      cause,
    })
  }
  return modelDataOf(data)
}

/** Runs a command and answers its exit code; what it refuses is said in one line each. */
export async function runTraining(
  help: string,
  { report }: Pick<TrainingPorts, 'report'>,
  work: () => Promise<void>,
): Promise<number> {
  try {
    await work()
    return 0
  } catch (error) {
    if (error instanceof UsageError) {
      report(error.message)
      report(help)
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
