import type { Coin, Exchange, Universe } from '../../../contracts/domain/series.ts'
import type { Call } from '../../../contracts/domain/verdict.ts'
import { decodeEvent, type ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import { universeStream } from '../../../contracts/events/streams.ts'
import { comparePositions, type Position } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../log/event-store.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import type { Signal } from './signal.ts'
import { toSignals } from './to-signals.ts'

type Store = Pick<EventStore, 'read'>
type Ranks = ReadonlyMap<Coin, number>

/** The coins of an exchange by rank, for all signals between two of its rankings. */
interface Ranking {
  ranks: Ranks | Promise<Ranks> | undefined
}

/**
 * A signal with what filters may ask about its position in the log. Answers that are not in memory are read once; they
 * depend on the log alone.
 */
export interface FoundSignal {
  readonly signal: Signal
  /** Rank of its coin in the newest ranking of its exchange before it, from 1; undefined without one. */
  rank(): number | undefined | Promise<number | undefined>
  /** Call of the verdict before it in its series; undefined for the first. */
  previousCall(): Call | undefined | Promise<Call | undefined>
}

/**
 * Finds the signals of events that come in the order of the log.
 *
 * @example const read = createSignalReader(store); const signals = read(event)
 */
export function createSignalReader(store: Store): (event: ServiceEvent) => readonly FoundSignal[] {
  const rankings = new Map<Exchange, Ranking>()
  const newest = new RecentMap<string, { readonly revision: number; readonly call: Call }>(
    LIMITS.webhookSeriesRemembered,
  )

  function rankingOf(exchange: Exchange): Ranking {
    const known = rankings.get(exchange)
    if (known !== undefined) return known
    const ranking: Ranking = { ranks: undefined }
    rankings.set(exchange, ranking)
    return ranking
  }

  function find(signal: Signal): FoundSignal {
    const { exchange, coin, stream, revision, position } = signal
    const ranking = rankingOf(exchange)
    const before = newest.get(stream)
    let call = before?.revision === revision - 1 ? before.call : undefined
    return {
      signal,
      rank() {
        if (coin === null) return undefined
        if (ranking.ranks === undefined) readRanks(store, ranking, exchange, position)
        const { ranks } = ranking
        return ranks instanceof Promise ? ranks.then((read) => read.get(coin)) : ranks?.get(coin)
      },
      previousCall() {
        if (call !== undefined || revision === 0) return call
        return callBefore(store, stream, revision).then((read) => (call = read))
      },
    }
  }

  return (event) => {
    const { stream, revision } = event
    const found = toSignals(event).map(find)
    if (event.type === 'VerdictRecorded') newest.set(stream, { revision, call: event.data.call })
    if (event.type === 'UniverseRanked') rankings.set(event.data.exchange, { ranks: ranksOf(event.data) })
    return found
  }
}

const ranksOf = ({ coins }: Universe): Ranks => new Map(coins.map(({ coin }, index) => [coin, index + 1]))

/** Reads a ranking; where that fails, the next question reads again. */
function readRanks(store: Store, ranking: Ranking, exchange: Exchange, position: Position): void {
  const reading = rankingBefore(store, exchange, position).then(
    (universe) => (ranking.ranks = universe === undefined ? new Map() : ranksOf(universe)),
    (error: unknown) => {
      ranking.ranks = undefined
      throw error
    },
  )
  ranking.ranks = reading
}

async function callBefore(store: Store, stream: string, revision: number): Promise<Call | undefined> {
  if (revision === 0) return undefined
  for await (const recorded of store.read(stream, { from: revision - 1, direction: 'backwards', limit: 1 })) {
    const event = decodeEvent(recorded)
    if (event.type === 'VerdictRecorded') return event.data.call
  }
  return undefined
}

/** The newest ranking in front of a position, found by halving: a stream's positions rise with its revisions. */
async function rankingBefore(
  store: Store,
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
