import { statSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { ERRORS, type ErrorDefinition, reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { isExchange } from '../../../contracts/exchanges.ts'
import { FUNDING_HISTORY_DAYS } from '../../../services/engine/funding/funding-rates.ts'
import { answerHelp } from '../../../testing/answer-help.ts'
import { fundingRecords, type PairRecord } from './funding-record.ts'
import { fundingTable } from './funding-table.ts'
import { readFundingFolder } from './read-funding-folder.ts'
import { walkFunding } from './walk-funding.ts'

const HELP = `Prints what the funding scan was worth on recorded settlements, one row for each pair of exchanges.

  npm run -s study:funding -- <folder> [--exchange CODE] [--from yyyy-mm-dd] [--to yyyy-mm-dd]

  <folder>         holds folders of funding files ({SYMBOL}-funding.csv.gz with the columns ts,rate)
  --exchange CODE  only pairs with this exchange
  --from DATE      the first day of the study
  --to DATE        the day after the last one`
const HOLDING_HOURS = 168
/** Four taker legs at 5 bps. */
const FEES_BPS = 20

interface StudyArguments {
  readonly folder: string
  readonly exchange: string | undefined
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
}

/** @throws Error saying what is wrong with the arguments */
function readArguments(args: readonly string[]): StudyArguments {
  const options = { exchange: { type: 'string' }, from: { type: 'string' }, to: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const [folder, ...others] = positionals
  if (folder === undefined || others.length > 0) throw new Error('Name one folder.')
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new Error(`${folder} is not a folder.`)
  }
  if (values.exchange !== undefined && !isExchange(values.exchange)) {
    throw new Error(`${values.exchange} is not an exchange code.`)
  }
  return {
    folder,
    exchange: values.exchange,
    fromMs: dateOf('--from', values.from),
    toMs: dateOf('--to', values.to),
  }
}

function dateOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const timeMs = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(timeMs)) throw new Error(`${flag} ${text} is not a date like 2024-01-31.`)
  return timeMs
}

function recordsOf({ folder, exchange, fromMs, toMs }: StudyArguments): PairRecord[] {
  const days = walkFunding({
    settlements: readFundingFolder(folder),
    keepDays: FUNDING_HISTORY_DAYS,
    holdingHours: HOLDING_HOURS,
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(toMs === undefined ? {} : { toMs }),
  })
  const records = fundingRecords(days, FEES_BPS).filter(
    ({ name }) => exchange === undefined || name.split(/[ –]/).includes(exchange),
  )
  if (records.length > 0) return records
  throw new ServiceError('market_data_missing', {
    message: `${folder} has no two funding histories of one coin to compare in this period.`,
  })
}

/** Answers the exit code: 2 for wrong arguments, else that of the error. */
function main(args: readonly string[]): number {
  let study: StudyArguments
  try {
    study = readArguments(args)
  } catch (error) {
    process.stderr.write(`${reasonOf(error)}\n${HELP}\n`)
    return 2
  }
  try {
    process.stdout.write(`${fundingTable(recordsOf(study))}\n`)
    return 0
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    process.stderr.write(`error ${error.code}: ${error.message}\n${error.nextStep}\n`)
    const { exitCode = 1 }: ErrorDefinition = ERRORS[error.code]
    return exitCode
  }
}

answerHelp(HELP)
process.exitCode = main(process.argv.slice(2))
