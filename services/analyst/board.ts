import { type BoardAnswer, type BoardRow, decidedRow, isShown } from '../../contracts/answers/board.ts'
import { isoTime } from '../../contracts/domain/iso-time.ts'
import { type Coin, type Exchange, type Series, seriesName } from '../../contracts/domain/series.ts'
import { TIMEFRAMES, type Timeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import { type Call, forecastShown, type Verdict } from '../../contracts/domain/verdict.ts'
import type { MarketKind } from '../../contracts/events/event-catalogue.ts'
import type { Decided } from '../../projections/index.ts'

export interface BoardQuery {
  readonly exchange?: Exchange | undefined
  readonly coin?: Coin | undefined
  readonly timeframe?: Timeframe | undefined
  readonly call?: Call | undefined
  /** Rows to leave out at the beginning. */
  readonly skip: number
  readonly limit: number
}

export interface BoardSource {
  readonly market: MarketKind
  /** The newest verdict of every series. */
  readonly newest: () => Iterable<Verdict>
  readonly decided: (series: string) => Decided | undefined
  /** Market time, Unix milliseconds. */
  readonly marketNow: () => number
  /** Beyond its bar's length, how late a series' newest bar may be; milliseconds of market time. */
  readonly staleAfterMs: number
  /** A clock to measure work by, milliseconds. */
  readonly now: () => number
}

/** The public state of every series. */
export type Board = ReturnType<typeof createBoard>

/** A view is kept for a second, and for so many times as long as it took to make, however many look at it. */
const KEPT_MS = 1_000
const KEPT_TIMES = 20

/**
 * The board: the newest verdict and regime of every series. On a live market a verdict is shown once its window has
 * closed, since before that it is what callers pay for; on others, where nothing can be traded, at once.
 */
export function createBoard(source: BoardSource) {
  let kept: { readonly until: number; readonly version: number; readonly view: View } | undefined
  let version = 0
  const view = () => {
    const began = source.now()
    if (kept !== undefined && began < kept.until) return kept
    const made = viewOf(source)
    if (kept === undefined || made.text !== kept.view.text) version += 1
    const tookMs = source.now() - began
    kept = { until: began + Math.max(KEPT_MS, KEPT_TIMES * tookMs), version, view: made }
    return kept
  }
  return {
    /** A page of it, and a number that changes with what it is made of. */
    read(query: BoardQuery): { readonly version: number; readonly answer: BoardAnswer } {
      const { version: current, view: all } = view()
      const found = all.rows.filter((row) => fits(query, row))
      const end = query.skip + query.limit
      const calls = { BUY: 0, SELL: 0, HOLD: 0 }
      for (const { verdict } of found) if (verdict !== null) calls[verdict.call] += 1
      const answer = {
        market: source.market,
        market_time: isoTime(all.now),
        series: all.rows.length,
        ...all.names,
        matching: found.length,
        calls,
        rows: found.slice(query.skip, end),
        next: end < found.length ? String(end) : null,
      }
      return { version: current, answer }
    },
  }
}

interface View {
  readonly now: number
  readonly rows: readonly BoardRow[]
  readonly names: Pick<BoardAnswer, 'exchanges' | 'coins' | 'timeframes'>
  /** All that the rows say, to tell one view from the next. */
  readonly text: string
}

function viewOf(source: BoardSource): View {
  const now = source.marketNow()
  const rows = [...source.newest()].map((verdict) => rowOf(verdict, source, now)).toSorted(byCall)
  const shown = new Set(rows.map(({ timeframe }) => timeframe))
  return {
    now,
    rows,
    names: {
      exchanges: [...new Set(rows.map(({ exchange }) => exchange))].toSorted(),
      coins: [...new Set(rows.map(({ coin }) => coin))].toSorted(),
      timeframes: TIMEFRAMES.filter((timeframe) => shown.has(timeframe)),
    },
    text: rows
      .map(
        ({ is_fresh, ...row }) => `${JSON.stringify(row.verdict ?? row.decided)}${row.bar_close}${is_fresh}`,
      )
      .join(),
  }
}

function rowOf(verdict: Verdict, { market, decided, staleAfterMs }: BoardSource, now: number): BoardRow {
  const { exchange, coin, timeframe, barClose, validUntil } = verdict
  const past = decided(seriesName(verdict))
  const isOpen = validUntil > now
  return {
    exchange,
    coin,
    timeframe,
    bar_close: isoTime(barClose),
    is_fresh: now - barClose <= timeframeMs(timeframe) + staleAfterMs,
    regime: verdict.regime,
    regime_since: isoTime(verdict.regimeSince),
    verdict: !isShown(market, verdict, now)
      ? null
      : {
          verdict_id: verdict.verdictId,
          call: verdict.call,
          confidence: verdict.confidence,
          strength: verdict.strength,
          price: verdict.price,
          expected_range: forecastShown(verdict.forecast).expected_range,
          valid_until: isoTime(validUntil),
          is_open: isOpen,
        },
    decided: past === undefined ? null : decidedRow(past.newest),
    decided_call: past?.newestCall ? decidedRow(past.newestCall) : null,
  }
}

const callOf = ({ verdict, decided }: BoardRow): Call => verdict?.call ?? decided?.call ?? 'HOLD'

const fits = ({ exchange, coin, timeframe, call }: BoardQuery, row: BoardRow): boolean =>
  (exchange ?? row.exchange) === row.exchange &&
  (coin ?? row.coin) === row.coin &&
  (timeframe ?? row.timeframe) === row.timeframe &&
  (call ?? callOf(row)) === callOf(row)

const rankOf = (row: BoardRow): number =>
  callOf(row) === 'HOLD' ? 0 : (row.verdict?.confidence ?? row.decided?.confidence ?? 0)

const placeOf = ({ exchange, coin, timeframe }: Series): string =>
  `${exchange}.${coin}.${String(TIMEFRAMES.indexOf(timeframe)).padStart(2, '0')}`

const byCall = (a: BoardRow, b: BoardRow): number =>
  rankOf(b) - rankOf(a) || (placeOf(a) < placeOf(b) ? -1 : 1)
