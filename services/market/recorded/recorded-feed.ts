import type { BarBatch, ClosedBar, FeedProgress } from '../../../contracts/domain/feed.ts'
import { type Market, marketName, seriesName } from '../../../contracts/domain/series.ts'
import { barOpenAt, HOUR_MS, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { BatchesRequest, MarketFeed } from '../feed.ts'
import { type Catalogue, type CatalogueOptions, openCatalogue } from './open-catalogue.ts'
import type { IgnoredRecording } from './recording.ts'
import { planReplay } from './replay-batches.ts'
import { createTurnovers } from './turnover.ts'

/** How many times as fast as they once did live bars follow one another. */
interface ReplayPace {
  readonly speed: number
  /** Wall time in milliseconds. */
  readonly now: () => number
  /** Ends after some milliseconds, or at once when the signal is aborted; does not reject. */
  readonly sleep: (durationMs: number, signal: AbortSignal) => Promise<void>
}

export interface RecordedFeedOptions extends CatalogueOptions {
  /** Without it they follow without a wait. */
  readonly pace?: ReplayPace
  /**
   * Bars of each series that are read as history before the live ones begin; 1,500 unless told. Where no instant
   * is given to begin at, the first series to have so many begins the live part for all; then 500.
   */
  readonly warmUpBars?: number
}

export interface RecordedFeed extends MarketFeed {
  readonly kind: 'recorded'
  /** Files that are not used, and why: of another kind, spot beside a perpetual contract, shorter duplicates. */
  ignored(): Promise<readonly IgnoredRecording[]>
}

/** Waits are cut into pieces, because a timer takes no more than 24 days. */
const LONGEST_SLEEP_MS = HOUR_MS

/**
 * A market replayed from candle and funding files, which may be packed with gzip. The files are read through
 * once before the first batch, so damage shows at once and progress has a total: the candle rows to read.
 *
 * Its clock stands at the newest batch delivered.
 *
 * @throws ServiceError from its methods: `market_data_missing`, `market_data_damaged`
 */
export function createRecordedFeed(options: RecordedFeedOptions): RecordedFeed {
  const { pace, warmUpBars } = options
  const { from, to = Number.POSITIVE_INFINITY } = options.period ?? {}
  let clock = from ?? 0
  let progress: FeedProgress | undefined
  let opened: Promise<Catalogue> | undefined
  const catalogue = (): Promise<Catalogue> => (opened ??= openCatalogue(options))
  const turnovers = createTurnovers()

  async function* batches(request: BatchesRequest) {
    const { series, liveFrom = from, signal } = request
    const { historyFrom = Number.POSITIVE_INFINITY } = request
    const found = await catalogue()
    const count = { barsDone: 0, barsTotal: 0 }
    const wanted = [...new Map(series.map((one) => [seriesName(one), one])).values()]
    const markets = new Map<string, Market>(wanted.map((one) => [marketName(one), one]))
    const replay = planReplay(found, {
      series: wanted,
      funding: [...markets.values()],
      notBefore(timeframe) {
        const warmUpMs = (warmUpBars ?? LIMITS.volatilityBars) * timeframeMs(timeframe)
        const start = barOpenAt(timeframe, liveFrom ?? Number.NEGATIVE_INFINITY) - warmUpMs
        return Math.min(start, barOpenAt(timeframe, historyFrom))
      },
      to,
      onRow: () => {
        count.barsDone++
      },
    })
    count.barsTotal = replay.rows
    progress = count
    const phaseOf = createPhases(liveFrom, warmUpBars ?? LIMITS.warmUpBars)
    const pacer = pace && createPacer(pace, signal)
    for await (const group of replay.groups()) {
      for (const { at, bars, funding: settled } of group) {
        const phase = phaseOf(at, bars)
        if (phase === 'live' && pacer !== undefined) await pacer(at)
        if (signal.aborted) return
        clock = Math.max(clock, at)
        yield { at, phase, bars, funding: settled }
      }
    }
  }

  return {
    kind: 'recorded',
    clock: () => clock,
    listings: async () => [...(await catalogue()).markets.values()].map(({ listing }) => listing),
    ignored: async () => (await catalogue()).ignored,
    batches,
    universe: async (exchange) => turnovers.rank(await catalogue(), exchange, clock),
    // Missing bars were never recorded, and will not come.
    isGone: () => false,
    venues: () => [],
    progress: (): FeedProgress | undefined => (progress === undefined ? undefined : { ...progress }),
  }
}

/** Tells history from live: by the instant where one is given, else by the bars a series has had. */
function createPhases(
  liveFrom: number | undefined,
  warmUpBars: number,
): (at: number, bars: readonly ClosedBar[]) => BarBatch['phase'] {
  if (liveFrom !== undefined) return (at) => (at > liveFrom ? 'live' : 'history')
  const barsOf = new Map<string, number>()
  let isWarm = false
  return (_at, bars) => {
    if (isWarm) return 'live'
    for (const { series } of bars) {
      const count = (barsOf.get(seriesName(series)) ?? 0) + 1
      barsOf.set(seriesName(series), count)
      isWarm ||= count >= warmUpBars
    }
    return 'history'
  }
}

/** Waits until it is an instant's turn, counted from the first instant. */
function createPacer(pace: ReplayPace, signal: AbortSignal): (at: number) => Promise<void> {
  let start: { wall: number; market: number } | undefined
  return async (at) => {
    start ??= { wall: pace.now(), market: at }
    const turn = start.wall + (at - start.market) / pace.speed
    for (let left = turn - pace.now(); left > 0 && !signal.aborted; left = turn - pace.now()) {
      await pace.sleep(Math.min(left, LONGEST_SLEEP_MS), signal)
    }
  }
}
