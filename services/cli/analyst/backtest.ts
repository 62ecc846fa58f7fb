import { z } from 'zod'
import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { BarBatch } from '../../../contracts/feed.ts'
import { isoDay } from '../../../contracts/iso-time.ts'
import type { Series } from '../../../contracts/series.ts'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import type { TrackRecordRow } from '../../../contracts/track-record-row.ts'
import type { VerdictRow } from '../../../contracts/verdict-row.ts'
import {
  rowsInMemory,
  scoreOutcome,
  TIMEFRAME_PREFIX,
  type TrackRecord,
  type TrackRecordRows,
} from '../../../projections/index.ts'
import { FORMATS, instantSchema, trackRecordRow, VERDICT_FORMATS } from '../../analyst/index.ts'
import { openRecordedFeed } from '../../composition/adapters/open-feed.ts'
import { loadModel, type VerdictModel } from '../../engine/index.ts'
import type { RecordedFeed } from '../../market/index.ts'
import { type CommandInput, defineCommand } from '../kit/command.ts'
import { FILTER_FLAGS, settingFlag, switchFlag } from '../kit/common-flags.ts'
import { createProgressLine, grouped, type ProgressLine } from '../kit/progress-line.ts'
import { writeFileWhole } from '../kit/write-output.ts'
import { chooseFormat, countRows } from './export.ts'
import { runBacktest } from './run-backtest.ts'

const FLAGS = {
  data: settingFlag('MARKET_DATA'),
  exchange: FILTER_FLAGS.exchange,
  coin: FILTER_FLAGS.coin,
  timeframe: FILTER_FLAGS.timeframe,
  from: {
    schema: instantSchema,
    help: 'Verdicts for bars that close after this instant (ISO 8601, UTC); bars before it warm up. Default: after the first 500 bars.',
    example: '2024-01-01',
  },
  to: {
    schema: instantSchema,
    help: 'Ends here. Default: the end of the data.',
    example: '2024-07-01',
  },
  out: {
    schema: z.string().min(1).optional(),
    help: 'File for the verdicts. Default: none is written.',
    example: 'verdicts.parquet',
  },
  format: {
    schema: z.enum(VERDICT_FORMATS).optional(),
    help: 'How --out is written: ndjson, csv or parquet. Default: what its name ends in.',
    example: 'csv',
  },
  json: switchFlag('Writes the evaluation as JSON.'),
} as const

type Input = CommandInput<typeof FLAGS>

export const backtestCommand = defineCommand({
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
    const model = loadModel()
    const format = flags.out === undefined ? undefined : chooseFormat(flags.format, flags.out)
    const feed = openFeed(input)
    const series = await seriesOf(feed, flags)
    const progress = createProgressLine(input)
    const records = rowsInMemory<TrackRecord>()
    let scored = 0
    const counting = countRows()
    const rows = runBacktest({
      model,
      series,
      batches: showing(progress, feed, feed.batches({ series, signal })),
      at: new Date(now()).toISOString(),
      onOutcome(outcome) {
        scored += 1
        scoreOutcome(records as unknown as TrackRecordRows, outcome)
      },
    })
    const counted = counting.pass(rows)
    if (flags.out === undefined || format === undefined) await exhaust(counted)
    else await writeFileWhole(flags.out, FORMATS[format].encode(counted), signal)
    signal.throwIfAborted()
    const { count, from, to } = counting.seen
    if (count === 0) throw tooFewBars(series)
    assert(scored <= count, 'no more verdicts are scored than come about', scored)
    progress.end(
      `${grouped(count)} verdicts of ${series.length} series${flags.out === undefined ? '' : ` in ${flags.out}`}`,
    )
    stdout.write(
      report({ model, series, period: { from, to }, count, scored, rows: rowsOf(records) }, flags.json),
    )
  },
})

function openFeed({ flags, stderr, now }: Input): RecordedFeed {
  const { data, exchange, coin, timeframe, from, to } = flags
  if (data === undefined) {
    throw new ServiceError('config_invalid', {
      message: 'MARKET_DATA (--data) names no folder. For example: --data ./binance-usdm',
    })
  }
  if (from !== undefined && to !== undefined && from >= to) {
    throw new ServiceError('config_invalid', { message: '--from: must be before --to' })
  }
  const settings = {
    MARKET_DATA: data,
    EXCHANGES: exchange,
    COINS: coin,
    TIMEFRAMES: timeframe,
    MARKET_FROM: from,
    MARKET_TO: to,
  }
  return openRecordedFeed(settings, {
    now: now(),
    report: (notice) => void stderr.write(`${notice}\n`),
  })
}

async function seriesOf(feed: RecordedFeed, { timeframe }: Input['flags']): Promise<Series[]> {
  const listings = await feed.listings()
  return listings.flatMap(({ exchange, coin, timeframes }) =>
    timeframes
      .filter((one) => timeframe?.includes(one) ?? true)
      .map((one) => ({ exchange, coin, timeframe: one })),
  )
}

async function* showing(
  progress: ProgressLine,
  feed: RecordedFeed,
  batches: AsyncIterable<BarBatch>,
): AsyncGenerator<BarBatch, void, void> {
  for await (const batch of batches) {
    progress.show(progressOf(feed))
    yield batch
  }
}

function progressOf(feed: RecordedFeed): string {
  const { barsDone, barsTotal } = feed.progress() ?? { barsDone: 0, barsTotal: 0 }
  const share = barsTotal === 0 ? 1 : Math.min(1, barsDone / barsTotal)
  return `${Math.floor(100 * share)} %  ${grouped(barsDone)} of ${grouped(barsTotal)} bars`
}

async function exhaust(rows: AsyncGenerator<VerdictRow, void, void>): Promise<void> {
  while ((await rows.next()).done !== true);
}

const tooFewBars = (series: readonly Series[]): ServiceError =>
  new ServiceError('market_data_missing', {
    message: `no verdict came of ${series.length} series: each needs 500 closed bars before its first. Choose a shorter timeframe, an earlier --from or more data`,
  })

/** The track record of each timeframe. */
const rowsOf = ({ entries }: { readonly entries: ReadonlyMap<string, TrackRecord> }): TrackRecordRow[] =>
  TIMEFRAMES.flatMap((timeframe) =>
    [...entries]
      .filter(([key, record]) => key.startsWith(TIMEFRAME_PREFIX) && record.timeframe === timeframe)
      .map(([, record]) => trackRecordRow(record)),
  )

function report(
  run: {
    readonly model: VerdictModel
    readonly series: readonly Series[]
    readonly period: { readonly from: number; readonly to: number }
    readonly count: number
    readonly scored: number
    readonly rows: readonly TrackRecordRow[]
  },
  isJson: boolean,
): string {
  const { model, series, period, count, scored, rows } = run
  const fitted = fittedOn(period)
  const open = count - scored
  if (isJson) {
    const { from, to } = period
    const times = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
    return `${JSON.stringify({ model_version: model.version, ...times, series: series.length, verdicts: count, open, fitted: fitted.relation, rows })}\n`
  }
  const lines = [
    `Backtest of ${model.version}: ${grouped(count)} verdicts, ${grouped(open)} of them without an outcome yet.`,
    fitted.text,
    'Information, not advice. Calls of a series that do not overlap; brackets hold 95 % intervals.',
    '',
    ...rows.map(recordLine),
  ]
  return `${lines.join('\n')}\n`
}

const percentOf = (share: number | null | undefined): string =>
  share === null || share === undefined ? '–' : `${(100 * share).toFixed(1)} %`

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
  const parts = [
    `${timeframe}: ${grouped(verdicts)} verdicts`,
    `within the range of four in five ${shareOf(ranges.coverage_80)}`,
    `${grouped(calls.calls)} calls`,
    ...(calls.calls === 0
      ? []
      : [
          `won ${shareOf(calls.win_rate)}, random sides ${percentOf(baselines.random.win_rate)}`,
          `in favour ${percentOf(calls.in_favour?.value)}`,
          `mean ${gross?.toFixed(1) ?? '–'} bps, after costs ${net?.toFixed(1) ?? '–'}`,
        ]),
  ]
  return parts.join('; ')
}

/** No number of the model was fitted on windows that end from here on. */
const FITTED_UNTIL = Date.UTC(2025, 6, 1)

/** Whether scores over a period say anything about bars that the model has not seen. */
function fittedOn({ from }: { readonly from: number }) {
  const until = isoDay(FITTED_UNTIL)
  return from < FITTED_UNTIL
    ? {
        relation: 'in_sample' as const,
        text: `Partly in sample: the model was fitted on bars of 15 coins before ${until}, and coins move together. These scores are kind; docs/model.md has those of later bars.`,
      }
    : {
        relation: 'out_of_sample' as const,
        text: `Out of sample: the model was fitted on bars before ${until}.`,
      }
}
