import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { TIMEFRAMES, type Timeframe } from '../../contracts/domain/timeframes.ts'
import { reasonOf } from '../../contracts/errors/errors.ts'
import type { VerdictModel } from '../../services/engine/model/verdict-model.ts'
import { type CandleFile, COINS, historiesOf, readCandleFiles } from './histories.ts'
import { Samples, sampleHistory } from './samples.ts'
import { simulatedCandles } from './simulated-market.ts'

/** Folders with a folder for each venue, unless --data names others. */
const FOLDERS = ['../shared/data', '../shared/data-intraday']

const OPTIONS = {
  data: { type: 'string', multiple: true, default: FOLDERS },
  coins: { type: 'string', default: COINS.join(',') },
  write: { type: 'boolean', default: false },
} as const

/** Reads the flags of a command; ends the process with 2 at a flag that it does not have, or without candles. */
export function readFlags(args: readonly string[]) {
  const { values, unknown } = parsed(args)
  const missing = values.data.find((folder) => !existsSync(folder))
  if (unknown !== undefined || missing !== undefined) {
    process.stderr.write(
      `${unknown ?? `There is no folder ${missing}. Name folders of candles with --data, once for each.`}\n`,
    )
    process.exit(2)
  }
  return { folders: values.data, coins: values.coins.split(','), write: values.write }
}

function parsed(args: readonly string[]) {
  try {
    return { ...parseArgs({ args: [...args], options: OPTIONS }), unknown: undefined }
  } catch (error) {
    return { ...parseArgs({ args: [], options: OPTIONS }), unknown: `${reasonOf(error)}; see --help.` }
  }
}

const progress = (text: string): void => void process.stderr.write(`${text}\n`)

/** Calls with the candles of each coin; they are forgotten afterwards. */
export function eachCoin(
  { folders, coins }: { readonly folders: readonly string[]; readonly coins: readonly string[] },
  take: (files: readonly CandleFile[], coin: number) => void,
): void {
  for (const [index, coin] of coins.entries()) {
    const files = readCandleFiles(folders, coin)
    take(files, index)
    progress(`${index + 1} of ${coins.length}: ${coin}, ${files.length} files`)
  }
}

export const emptySamples = (): ReadonlyMap<Timeframe, Samples> =>
  new Map(TIMEFRAMES.map((timeframe) => [timeframe, new Samples(timeframe)]))

/** Adds the windows of a coin at every timeframe. */
export function addSamples(
  all: ReadonlyMap<Timeframe, Samples>,
  model: VerdictModel,
  files: readonly CandleFile[],
  coin: number,
): void {
  for (const [timeframe, samples] of all)
    for (const bars of historiesOf(files, timeframe)) sampleHistory(samples, model, coin, bars)
}

/** The windows of simulated markets. */
export function simulatedSamples(model: VerdictModel): ReadonlyMap<Timeframe, Samples> {
  const all = emptySamples()
  let coin = 0
  for (const files of simulatedCandles()) addSamples(all, model, files, coin++)
  progress(`simulated markets: ${coin} coins`)
  return all
}
