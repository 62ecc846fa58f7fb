import type { TrackRecordRow } from '../../../contracts/answers/track-record.ts'
import { type VerdictRow, verdictRow } from '../../../contracts/answers/verdict-row.ts'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import { isoDay } from '../../../contracts/domain/iso-time.ts'
import type { Outcome } from '../../../contracts/domain/outcome.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { rowsInMemory, scoreOutcome, TIMEFRAME_PREFIX, type TrackRecord } from '../../../projections/index.ts'
import { FORMATS, instantSchema, trackRecordRow } from '../../analyst/index.ts'
import { openRecordedFeed } from '../../composition/adapters/open-feed.ts'
import { loadModel, SeriesEngine, startRace, type VerdictModel } from '../../engine/index.ts'
import type { RecordedFeed } from '../../market/index.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import {
  type Command,
  type CommandInput,
  defineCommand,
  flag,
  settingFlag,
  switchFlag,
} from '../kit/command.ts'
import { createProgressLine, grouped, writeFileWhole } from '../kit/output.ts'
import { chooseFormat, FILE_FLAGS, FILTER_FLAGS } from './replay.ts'

const FLAGS = {
  data: settingFlag('MARKET_DATA'),
  exchange: FILTER_FLAGS.exchange,
  coin: FILTER_FLAGS.coin,
  timeframe: FILTER_FLAGS.timeframe,
  from: flag(
    instantSchema,
    'Verdicts for bars that close after this instant (ISO 8601, UTC); bars before it warm up. Default: after the first 500 bars.',
    '2024-01-01',
  ),
  to: flag(instantSchema, 'Ends here. Default: the end of the data.', '2024-07-01'),
  ...FILE_FLAGS,
  json: switchFlag('Writes the evaluation as JSON.'),
} as const

type Input = CommandInput<typeof FLAGS>

const backtestCommand = defineCommand({
  name: 'backtest',
  summary: 'Runs the engine over recorded bars, without a store, and scores its verdicts.',
  notes: [
    'Each verdict gets its outcome as in a running service. The report has, for each timeframe, how many prices ended within their range and what calls came to that do not overlap, beside random sides, before and after costs: the figures of the track record. It says whether the model was fitted on bars of the period. Verdicts whose window ends after the last bar are not scored.',
    'With --out the verdicts are written as rows like those of a replay. Their ids are made of the inputs with a published key, so they are the same on every machine and differ from those of recorded verdicts; `cursor` counts them, and `recorded_at` is the time of the run. A row is written when its verdict has its outcome; those whose window ends after the last bar come last, without one.',
  ],
  flags: FLAGS,
  examples: [
    'signal backtest --data ./binance-usdm --coin BTC --timeframe 1h --from 2025-01-01',
    'signal backtest --data ./binance-usdm --coins BTC,ETH --timeframes 1h,4h --out verdicts.parquet --json',
  ],
  async run(input) {
    const { flags, stdout, signal, now } = input
    const { out } = flags
    const model = loadModel()
    const format = out === undefined ? undefined : chooseFormat(flags.format, out)
    const feed = openFeed(input)
    const series = (await feed.listings()).flatMap(({ exchange, coin, timeframes }) =>
      timeframes
        .filter((timeframe) => flags.timeframe?.includes(timeframe) ?? true)
        .map((timeframe) => ({ exchange, coin, timeframe })),
    )
    const progress = createProgressLine(input)
    const records = rowsInMemory<TrackRecord>()
    const seen = { scored: 0, count: 0, from: Number.POSITIVE_INFINITY, to: Number.NEGATIVE_INFINITY }
    const judged = runBacktest(model, series, feed.batches({ series, signal }))
    const at = new Date(now()).toISOString()
    async function* rows(): AsyncGenerator<VerdictRow, void, void> {
      for await (const { verdict, outcome } of judged) {
        if (outcome !== null) {
          seen.scored += 1
          scoreOutcome(records, outcome)
        }
        seen.count += 1
        seen.from = Math.min(seen.from, verdict.barClose)
        seen.to = Math.max(seen.to, verdict.barClose)
        const { barsDone = 0, barsTotal = 0 } = feed.progress() ?? {}
        progress.show(`${grouped(barsDone)} of ${grouped(barsTotal)} bars`)
        yield verdictRow(verdict, String(seen.count), at, outcome)
      }
    }
    if (out === undefined || format === undefined) for await (const _ of rows());
    else await writeFileWhole(out, FORMATS[format].encode(rows()), signal)
    signal.throwIfAborted()
    if (seen.count === 0)
      throw new ServiceError('market_data_missing', {
        message: `no verdict came of ${series.length} series: each needs 500 closed bars before its first. Choose a shorter timeframe, an earlier --from or more data`,
      })
    assert(seen.scored <= seen.count, 'no more verdicts are scored than come about', seen.scored)
    progress.end(
      `${grouped(seen.count)} verdicts of ${series.length} series${out === undefined ? '' : ` in ${out}`}`,
    )
    const report = {
      model_version: model.version,
      from: new Date(seen.from).toISOString(),
      to: new Date(seen.to).toISOString(),
      series: series.length,
      verdicts: seen.count,
      open: seen.count - seen.scored,
      // Scores over such a period say little about bars that the model has not seen.
      fitted: seen.from < FITTED_UNTIL ? 'in_sample' : 'out_of_sample',
      rows: recordsOf(records),
    } as const
    stdout.write(flags.json ? `${JSON.stringify(report)}\n` : linesOf(report))
  },
})

export const commands: readonly Command[] = [backtestCommand]

function openFeed({ flags, stderr, now }: Input): RecordedFeed {
  const { data, from, to } = flags
  const wrong = (message: string): ServiceError => new ServiceError('config_invalid', { message })
  if (data === undefined)
    throw wrong('MARKET_DATA (--data) names no folder. For example: --data ./binance-usdm')
  if (from !== undefined && to !== undefined && from >= to) throw wrong('--from: must be before --to')
  const chosen = { EXCHANGES: flags.exchange, COINS: flags.coin, TIMEFRAMES: flags.timeframe }
  return openRecordedFeed(
    { MARKET_DATA: data, MARKET_FROM: from, MARKET_TO: to, ...chosen },
    { now: now(), report: (notice) => void stderr.write(`${notice}\n`) },
  )
}

/**
 * Ids of a backtest: made of a published text, so that the same inputs have the same id on every machine, and
 * never that of a recorded verdict.
 */
const idOf = createFactIds(Buffer.from('signal-service backtest'))

/**
 * Runs the engine over recorded bars without a store: the verdicts that a recorded run would append, each when it has
 * its outcome by the rule that defines confidence, as in a replay. Those whose window ends after the last bar come last,
 * without an outcome.
 */
async function* runBacktest(
  model: VerdictModel,
  all: readonly Series[],
  batches: AsyncIterable<BarBatch>,
): AsyncGenerator<{ readonly verdict: Verdict; readonly outcome: Outcome | null }, void, void> {
  const engine = new SeriesEngine({ model })
  const followed = all.map((series) => {
    const races = new Map<Verdict, ReturnType<typeof startRace>>()
    return {
      name: seriesName(series),
      opened: engine.open(series),
      races,
      previous: null as Verdict['previous'],
    }
  })
  const byName = new Map(followed.map((one) => [one.name, one]))
  let isLive = false

  function takeVerdict(one: (typeof followed)[number]): void {
    const reading = engine.read(one.opened)
    if (reading.status !== 'verdict') return
    const { barClose, inputsHash, regime } = reading.verdict
    const verdictId = idOf(one.name, String(barClose), inputsHash)
    const verdict = { ...reading.verdict, verdictId, previous: one.previous, recordedLate: false }
    one.previous = { barClose, regime }
    one.races.set(verdict, startRace(verdict))
  }

  for await (const { phase, bars } of batches) {
    if (phase === 'live' && !isLive) {
      isLive = true
      followed.forEach(takeVerdict)
    }
    for (const { series, candle } of bars) {
      const one = byName.get(seriesName(series))
      if (one === undefined) continue
      for (const [verdict, { race, verdict: repeated }] of one.races) {
        const ended = race.take(candle)
        if (ended === undefined) continue
        one.races.delete(verdict)
        yield { verdict, outcome: { ...repeated, ...ended } }
      }
      engine.push(one.opened, candle)
      if (isLive) takeVerdict(one)
    }
  }
  for (const { races } of followed) for (const verdict of races.keys()) yield { verdict, outcome: null }
}

/** The track record of each timeframe. */
const recordsOf = ({ entries }: { readonly entries: ReadonlyMap<string, TrackRecord> }): TrackRecordRow[] =>
  TIMEFRAMES.flatMap((timeframe) =>
    [...entries]
      .filter(([key, record]) => key.startsWith(TIMEFRAME_PREFIX) && record.timeframe === timeframe)
      .map(([, record]) => trackRecordRow(record)),
  )

/** No number of the model was fitted on windows that end from here on. */
const FITTED_UNTIL = Date.UTC(2025, 6, 1)

interface Report {
  readonly model_version: string
  readonly verdicts: number
  /** How many verdicts have no outcome yet. */
  readonly open: number
  readonly fitted: 'in_sample' | 'out_of_sample'
  readonly rows: readonly TrackRecordRow[]
}

function linesOf({ model_version: model, verdicts, open, fitted, rows }: Report): string {
  const until = isoDay(FITTED_UNTIL)
  const about = {
    in_sample: `Partly in sample: the model was fitted on bars of 15 coins before ${until}, and coins move together. These scores are kind; docs/model.md has those of later bars.`,
    out_of_sample: `Out of sample: the model was fitted on bars before ${until}.`,
  }
  return `Backtest of ${model}: ${grouped(verdicts)} verdicts, ${grouped(open)} of them without an outcome yet.
${about[fitted]}
Information, not advice. Calls of a series that do not overlap; brackets hold 95 % intervals.

${rows.map((row) => `${recordLine(row)}\n`).join('')}`
}

const percentOf = (share: number | null | undefined): string =>
  typeof share === 'number' ? `${(100 * share).toFixed(1)} %` : '–'

const shareOf = (share: TrackRecordRow['non_overlapping']['win_rate']): string =>
  share === null ? '–' : `${percentOf(share.value)} [${percentOf(share.low)}, ${percentOf(share.high)}]`

/** How far prices went, then what the calls came to beside random sides. */
function recordLine({
  timeframe,
  verdicts,
  ranges,
  non_overlapping: calls,
  baselines,
}: TrackRecordRow): string {
  const { gross_mean_bps: gross, net_mean_bps: net } = calls
  const made = `${timeframe}: ${grouped(verdicts)} verdicts; within the range of four in five ${shareOf(ranges.coverage_80)}; ${grouped(calls.calls)} calls`
  if (calls.calls === 0) return made
  return `${made}; won ${shareOf(calls.win_rate)}, random sides ${percentOf(baselines.random.win_rate)}; in favour ${percentOf(calls.in_favour?.value)}; mean ${gross?.toFixed(1) ?? '–'} bps, after costs ${net?.toFixed(1) ?? '–'}`
}
