import { createHash } from 'node:crypto'
import type { Candle } from '../../contracts/domain/candle.ts'
import { type Series, seriesName } from '../../contracts/domain/series.ts'
import { timeframeMs } from '../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../contracts/domain/verdict.fixture.ts'
import { REGIMES, WINDOW_BARS } from '../../contracts/domain/verdict.ts'
import { isServiceError } from '../../contracts/errors/errors.ts'
import { decodeEvent } from '../../contracts/events/event-catalogue.ts'
import { verdictStream } from '../../contracts/events/streams.ts'
import type { VerdictDraft } from '../../services/engine/index.ts'
import type { EventStore } from '../../services/log/event-store.ts'
import type { SimulatedTime } from './time.ts'

/** Bars that close by the clock of the simulation, only quicker; what they say follows from when they close. */
export interface Market {
  readonly series: readonly Series[]
  /** Market time, Unix milliseconds. */
  readonly now: () => number
  /** When the first bar closes. */
  readonly firstClose: number
  /** How long it is until market time is so far, milliseconds of the simulation. */
  readonly untilMs: (marketTime: number) => number
  /** No bar closes any more. */
  end(): void
}

export function createMarket(
  time: Pick<SimulatedTime, 'now'>,
  series: readonly Series[],
  speed: number,
): Market {
  const start = time.now()
  let endedAt = Number.POSITIVE_INFINITY
  const now = (): number => start + (Math.min(time.now(), endedAt) - start) * speed
  return {
    series,
    now,
    firstClose: start + timeframeMs('1m'),
    untilMs: (marketTime) => Math.max(0, (marketTime - now()) / speed),
    end() {
      endedAt = time.now()
    },
  }
}

/** Uniform in [0, 1), from what a thing is called. */
const drawn = (...parts: readonly unknown[]): number =>
  createHash('sha256').update(parts.map(String).join(' ')).digest().readUInt32BE() / 2 ** 32

function barAt(series: Series, close: number): Candle {
  const price = 100 + 10 * drawn('price', seriesName(series), close)
  const openTime = close - timeframeMs(series.timeframe)
  return { openTime, open: price, high: price * 1.01, low: price * 0.99, close: price, volume: 1 }
}

const CALLS = ['BUY', 'SELL', 'HOLD'] as const

function draftAt(series: Series, close: number): VerdictDraft {
  const pick = <Item>(what: string, of: readonly Item[]): Item =>
    of[Math.floor(drawn(what, seriesName(series), close) * of.length)] as Item
  const span = WINDOW_BARS[series.timeframe] * timeframeMs(series.timeframe)
  return aVerdict({
    ...series,
    barClose: close,
    validUntil: close + span,
    call: pick('call', CALLS),
    regime: pick('regime', REGIMES),
    regimeSince: close,
    price: barAt(series, close).close,
  })
}

/** Bars that are recorded together at most, behind a time in which nobody recorded. */
const BARS_AT_ONCE = 50
const RETRY_MS = 1_000

/** Records the verdicts of one series, from the newest that is in the log on. */
export async function followBars(
  series: Series,
  options: {
    readonly market: Market
    readonly store: Pick<EventStore, 'read'>
    readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
    readonly signal: AbortSignal
    readonly record: (drafts: readonly VerdictDraft[], bars: readonly Candle[]) => Promise<void>
  },
): Promise<void> {
  const { market, store, sleep, signal, record } = options
  const step = timeframeMs(series.timeframe)
  let next: number | undefined
  while (!signal.aborted) {
    try {
      next ??= (await newestClose(store, series, market.firstClose - step)) + step
      const due: number[] = []
      for (let close = next; close <= market.now() && due.length < BARS_AT_ONCE; close += step)
        due.push(close)
      if (due.length > 0) {
        await record(
          due.map((close) => draftAt(series, close)),
          due.map((close) => barAt(series, close)),
        )
        next += due.length * step
      }
      await sleep(Math.max(1, market.untilMs(next)), signal)
    } catch (error) {
      if (!isServiceError(error)) throw error
      next = undefined
      await sleep(RETRY_MS, signal)
    }
  }
}

async function newestClose(
  store: Pick<EventStore, 'read'>,
  series: Series,
  otherwise: number,
): Promise<number> {
  for await (const recorded of store.read(verdictStream(series), { direction: 'backwards', limit: 5 })) {
    const event = decodeEvent(recorded)
    if (event.type === 'VerdictRecorded') return event.data.barClose
  }
  return otherwise
}
