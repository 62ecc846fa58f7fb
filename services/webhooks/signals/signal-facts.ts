import { createHash } from 'node:crypto'
import { decodeEvent, type EventType, type ServiceEvent } from '../../../contracts/event-catalogue.ts'
import type { Exchange } from '../../../contracts/exchanges.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { comparePositions, inFrontOf, type Position } from '../../../contracts/position.ts'
import type { Coin } from '../../../contracts/series.ts'
import { universeStream } from '../../../contracts/streams.ts'
import type { Universe } from '../../../contracts/universe.ts'
import { type Call, shiftedFrom } from '../../../contracts/verdict.ts'
import type { EventStore } from '../../log/event-store.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { uuidV8 } from '../../runtime/ids/uuid.ts'
import { isTraceparent } from '../../runtime/tracing/trace-context.ts'
import type { RegimeShiftSignal, Signal, TradeCallSignal } from './signal.ts'

/** Types of the events that can be signals. */
export const SIGNAL_EVENTS = ['VerdictRecorded', 'ScanCompleted'] as const satisfies readonly EventType[]

/** Types of the events that matching has to see. */
export const MATCHER_EVENTS = [
  ...SIGNAL_EVENTS,
  'UniverseRanked',
  'SubscriptionChanged',
] as const satisfies readonly EventType[]

/**
 * The signals that an event says, in their order: of a verdict that it is BUY or SELL, and that the regime of its series
 * has shifted; a digest. None for every other event. Each has a place of its own: that of the event is the last one's.
 *
 * @example toSignals(decodeEvent(recorded)).map(({ type }) => type) // ['trade_call', 'regime_shift']
 */
export function toSignals(event: ServiceEvent): readonly Signal[] {
  const { id: eventId, position, stream, revision, meta } = event
  // What is no trace context would be no header either.
  const traceparent = isTraceparent(meta.traceparent) ? meta.traceparent : undefined
  switch (event.type) {
    case 'VerdictRecorded': {
      const { exchange, timeframe, coin, barClose, call } = event.data
      const priorRegime = shiftedFrom(event.data)
      if (call === 'HOLD' && priorRegime === undefined) return NONE
      const about = { at: Date.parse(event.at), exchange, timeframe, coin, barClose, traceparent }
      const place = { position, stream, revision }
      if (priorRegime === undefined) {
        return [{ type: 'trade_call', eventId, ...place, ...about, data: event.data }]
      }
      const { verdictId, regime, confidence } = event.data
      const data = { exchange, coin, timeframe, verdictId, barClose, regime, priorRegime, confidence }
      const shift = { type: 'regime_shift', eventId: shiftId(eventId), ...place, ...about, data } as const
      if (call === 'HOLD') return [shift]
      const first = { ...place, position: inFrontOf(position) }
      return [{ type: 'trade_call', eventId, ...first, ...about, data: event.data }, shift]
    }
    case 'ScanCompleted': {
      const { exchange, timeframe, boundary } = event.data
      const about = {
        at: Date.parse(event.at),
        exchange,
        timeframe,
        coin: null,
        barClose: boundary,
        traceparent,
      }
      return [{ type: 'scan_digest', eventId, position, stream, revision, ...about, data: event.data }]
    }
    default:
      return NONE
  }
}

const NONE: readonly Signal[] = []

/** Id of a shift: it has no event of its own, and is another signal than the verdict it comes with. */
const shiftId = (verdictId: string): string =>
  uuidV8(createHash('sha256').update(`regime shift\n${verdictId}`).digest())

type Ranks = ReadonlyMap<Coin, number>

/** The newest events of a series that the tail has met. */
interface SeenSeries {
  readonly revision: number
  readonly call: Call
}

export type SignalFacts = ReturnType<typeof createSignalFacts>

/**
 * Facts about a signal that are not in it, at its position in the log. Events of the tail are remembered; earlier ones
 * are read on demand. So the answers depend on the log alone, and not on where the tail began.
 *
 * @example const facts = createSignalFacts({ store }) // one for each reader of the log
 */
export function createSignalFacts({ store }: { readonly store: Pick<EventStore, 'read'> }) {
  const rankings = new Map<Exchange, Ranks>()
  // A series that was evicted is read again when it is asked for.
  const seen = new RecentMap<string, SeenSeries>(LIMITS.webhookSeriesRemembered)

  return {
    /** Remembers an event; in the order of the log, each after the questions about it. */
    see(event: ServiceEvent) {
      const { stream, revision } = event
      if (event.type === 'VerdictRecorded') seen.set(stream, { revision, call: event.data.call })
      if (event.type === 'UniverseRanked') rankings.set(event.data.exchange, ranksOf(event.data))
    },
    /** Place of the signal's coin in the newest ranking of its exchange before it, from 1; undefined without one. */
    rank({ exchange, data, position }: TradeCallSignal | RegimeShiftSignal) {
      const known = rankings.get(exchange)
      if (known !== undefined) return known.get(data.coin)
      return rankingBefore(store, exchange, position).then((universe) => {
        const ranks = universe === undefined ? new Map<Coin, number>() : ranksOf(universe)
        rankings.set(exchange, ranks)
        return ranks.get(data.coin)
      })
    },
    /** Call of the verdict before a signal in its series; undefined for the first. */
    previousCall({ stream, revision }: TradeCallSignal) {
      const before = seen.get(stream)
      if (before?.revision === revision - 1) return before.call
      return callBefore(store, stream, revision)
    },
  }
}

const ranksOf = ({ coins }: Universe): Ranks => new Map(coins.map(({ coin }, index) => [coin, index + 1]))

async function callBefore(
  store: Pick<EventStore, 'read'>,
  stream: string,
  revision: number,
): Promise<Call | undefined> {
  if (revision === 0) return undefined
  for await (const recorded of store.read(stream, { from: revision - 1, direction: 'backwards', limit: 1 })) {
    const event = decodeEvent(recorded)
    if (event.type === 'VerdictRecorded') return event.data.call
  }
  return undefined
}

/** The newest ranking in front of a position, found by halving: a stream's positions rise with its revisions. */
async function rankingBefore(
  store: Pick<EventStore, 'read'>,
  exchange: Exchange,
  position: Position,
): Promise<Universe | undefined> {
  const stream = universeStream(exchange)
  const at = async (options: Parameters<EventStore['read']>[1]) => {
    for await (const recorded of store.read(stream, { ...options, limit: 1 })) return decodeEvent(recorded)
    return undefined
  }
  let found = await at({ direction: 'backwards' })
  if (found !== undefined && comparePositions(found.position, position) >= 0) {
    let [low, high] = [-1, found.revision]
    found = undefined
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      const event = await at({ from: middle })
      if (event === undefined || comparePositions(event.position, position) >= 0) high = middle
      else [low, found] = [middle, event]
    }
  }
  return found?.type === 'UniverseRanked' ? found.data : undefined
}
