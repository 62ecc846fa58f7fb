import type { TrackRecordRow } from '../../../contracts/answers/track-record.ts'
import type { VerdictRow } from '../../../contracts/answers/verdict-row.ts'
import { isoDay } from '../../../contracts/domain/iso-time.ts'
import { TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import {
  rowsInMemory,
  scoreOutcome,
  TIMEFRAME_PREFIX,
  type TrackRecord,
  type TrackRecordRows,
} from '../../../projections/index.ts'
import { FORMATS, instantSchema, trackRecordRow } from '../../analyst/index.ts'
import { openRecordedFeed } from '../../composition/adapters/open-feed.ts'
import { loadModel } from '../../engine/index.ts'
import type { RecordedFeed } from '../../market/index.ts'
import { type Command, type CommandInput, defineCommand } from '../kit/command.ts'
import { FILTER_FLAGS, settingFlag, switchFlag } from '../kit/common-flags.ts'
import { createProgressLine, grouped, writeFileWhole } from '../kit/output.ts'
import { chooseFormat, FILE_FLAGS } from './replay.ts'
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
    const verdicts = runBacktest({
      model,
      series,
      batches: feed.batches({ series, signal }),
      at: new Date(now()).toISOString(),
      onOutcome(outcome) {
        seen.scored += 1
        scoreOutcome(records as unknown as TrackRecordRows, outcome)
      },
    })
    async function* counted(): AsyncGenerator<VerdictRow, void, void> {
      for await (const row of verdicts) {
        const close = Date.parse(row.bar_close)
        seen.count += 1
        seen.from = Math.min(seen.from, close)
        seen.to = Math.max(seen.to, close)
        const { barsDone = 0, barsTotal = 0 } = feed.progress() ?? {}
        progress.show(`${grouped(barsDone)} of ${grouped(barsTotal)} bars`)
        yield row
      }
    }
    if (out === undefined || format === undefined) for await (const _ of counted());
    else await writeFileWhole(out, FORMATS[format].encode(counted()), signal)
    signal.throwIfAborted()
    if (seen.count === 0)
      throw new ServiceError('market_data_missing', {
        message: `no verdict came of ${series.length} series: each needs 500 closed bars before its first. Choose a shorter timeframe, an earlier --from or more data`,
      })
    assert(seen.scored <= seen.count, 'no more verdicts are scored than come about', seen.scored)
    const count = grouped(seen.count)
    progress.end(`${count} verdicts of ${series.length} series${out === undefined ? '' : ` in ${out}`}`)
    const run = { ...seen, modelVersion: model.version, series: series.length, rows: rowsOf(records) }
    stdout.write(flags.json ? jsonOf(run) : linesOf(run))
  },
})

export const commands: readonly Command[] = [backtestCommand]

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

/** The track record of each timeframe. */
const rowsOf = ({ entries }: { readonly entries: ReadonlyMap<string, TrackRecord> }): TrackRecordRow[] =>
  TIMEFRAMES.flatMap((timeframe) =>
    [...entries]
      .filter(([key, record]) => key.startsWith(TIMEFRAME_PREFIX) && record.timeframe === timeframe)
      .map(([, record]) => trackRecordRow(record)),
  )

interface Run {
  readonly modelVersion: string
  /** How many series were tested, and how many verdicts came about and were scored. */
  readonly series: number
  readonly count: number
  readonly scored: number
  /** Closes of the first and the last bar with a verdict. */
  readonly from: number
  readonly to: number
  readonly rows: readonly TrackRecordRow[]
}

function jsonOf({ modelVersion, from, to, series, count, scored, rows }: Run): string {
  const period = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
  const counts = { series, verdicts: count, open: count - scored }
  const fitted = isInSample(from) ? 'in_sample' : 'out_of_sample'
  return `${JSON.stringify({ model_version: modelVersion, ...period, ...counts, fitted, rows })}\n`
}

function linesOf({ modelVersion, from, count, scored, rows }: Run): string {
  const until = isoDay(FITTED_UNTIL)
  const lines = [
    `Backtest of ${modelVersion}: ${grouped(count)} verdicts, ${grouped(count - scored)} of them without an outcome yet.`,
    isInSample(from)
      ? `Partly in sample: the model was fitted on bars of 15 coins before ${until}, and coins move together. These scores are kind; docs/model.md has those of later bars.`
      : `Out of sample: the model was fitted on bars before ${until}.`,
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

/** Scores over such a period say little about bars that the model has not seen. */
const isInSample = (from: number): boolean => from < FITTED_UNTIL
