import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { Exchange } from '../../../../contracts/domain/series.ts'
import type { Cadence, SubscriptionFilter } from '../../../../contracts/domain/subscription.ts'
import { HOUR_MS, type Timeframe, timeframeMs } from '../../../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../../../contracts/domain/verdict.fixture.ts'
import type { Regime, Verdict } from '../../../../contracts/domain/verdict.ts'
import {
  decodeEvent,
  type ServiceEvent,
  UniverseRanked,
  VerdictRecorded,
} from '../../../../contracts/events/event-catalogue.ts'
import { type EventDefinition, newEvent } from '../../../../contracts/events/event-definition.ts'
import { type digestRowSchema, ScanCompleted } from '../../../../contracts/events/scan-events.ts'
import {
  scanStream,
  subscriptionStream,
  universeStream,
  verdictStream,
} from '../../../../contracts/events/streams.ts'
import { SubscriptionChanged, SubscriptionCreated } from '../../../../contracts/events/subscription-events.ts'
import type { NewEvent } from '../../../../contracts/infra/event.ts'
import type { JsonObject } from '../../../../contracts/infra/json.ts'
import { type Position, START } from '../../../../contracts/infra/position.ts'
import { appendNext } from '../../../../testing/append-next.ts'
import {
  createMemoryLog,
  type MemoryLog,
  openMemoryStore,
} from '../../../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../../../log/event-store.ts'
import { uuidV8 } from '../../../runtime/ids/uuid.ts'
import { evolveSubscription, type Subscription } from '../../state/subscription-state.ts'

export const NOON = Date.UTC(2026, 10, 21, 12)

/** An id that a number stands for, the same every time. */
export const anId = (about: string | number): string =>
  uuidV8(createHash('sha256').update(`id ${about}`).digest())

/** Lets everything but digests through, unless a test says otherwise. */
export const aFilter = (change: Partial<SubscriptionFilter> = {}): SubscriptionFilter => ({
  events: ['trade_call', 'regime_shift'],
  timeframes: null,
  assets: null,
  exchanges: null,
  minConfidence: 0,
  minStrength: 0,
  onlyChanges: false,
  digest: null,
  ...change,
})

type DigestRow = z.infer<typeof digestRowSchema>

export const aDigestRow = (rank: number, change: Partial<DigestRow> = {}): DigestRow => ({
  rank,
  coin: `COIN${rank}`,
  call: 'BUY',
  confidence: 55,
  strength: 100 - rank,
  regime: 'TRENDING_UP',
  price: 1.5 * rank,
  barClose: NOON,
  validUntil: NOON + 8 * HOUR_MS,
  verdictId: anId(`row ${rank}`),
  ...change,
})

const decoded = (row: MemoryLog['rows'][number]): ServiceEvent =>
  decodeEvent({ ...row, data: JSON.parse(row.data), meta: JSON.parse(row.meta) })

/** A log in memory to which signals and subscriptions are appended. */
export interface SignalLog {
  readonly log: MemoryLog
  readonly store: EventStore
  now: number
  /** A verdict at the next bar of its series, behind one of a prior regime where that is given. */
  verdict(change: Partial<Verdict>, priorRegime?: Regime): Promise<ServiceEvent>
  universe(exchange: Exchange, coins: readonly string[]): Promise<ServiceEvent>
  digest(exchange: Exchange, timeframe: Timeframe, cadence: Cadence, rows: number): Promise<ServiceEvent>
  /** @param name a number that stands for the subscription */
  subscribe(name: number, filter: SubscriptionFilter, startAfter?: Position): Promise<ServiceEvent>
  change(name: number, filter: SubscriptionFilter): Promise<ServiceEvent>
  append<Data extends JsonObject>(
    stream: string,
    ...facts: readonly { readonly definition: EventDefinition<string, Data>; readonly data: Data }[]
  ): Promise<ServiceEvent>
  /** As its events tell it, now. */
  subscription(name: number): Subscription
  events(): ServiceEvent[]
  head(): Position
}

export function aSignalLog(): SignalLog {
  const log = createMemoryLog()
  let ids = 0
  const bars = new Map<string, number>()

  function nextVerdict(change: Partial<Verdict>): Verdict {
    const series = aVerdict(change)
    const stream = verdictStream(series)
    const barClose = (bars.get(stream) ?? NOON) + timeframeMs(series.timeframe)
    bars.set(stream, barClose)
    return aVerdict({ ...change, barClose, verdictId: anId(`verdict ${stream} ${barClose}`) })
  }

  const world: SignalLog = {
    log,
    store: openMemoryStore({ now: () => world.now, log }),
    now: NOON,
    async append(stream, ...facts) {
      const meta = { correlationId: 'test', actor: 'test' }
      const events: NewEvent[] = facts.map(({ definition, data }) =>
        newEvent(definition, { id: anId(`event ${ids++}`), data, meta }),
      )
      await appendNext(world.store, stream, events)
      const newest = log.rows.at(-1)
      if (newest === undefined) throw new Error('nothing was appended')
      return decoded(newest)
    },
    verdict(change, priorRegime) {
      const data = nextVerdict(change)
      const before = {
        barClose: data.barClose - timeframeMs(data.timeframe),
        regime: priorRegime ?? data.regime,
      }
      return world.append(verdictStream(data), {
        definition: VerdictRecorded,
        data: { ...data, previous: before },
      })
    },
    universe(exchange, coins) {
      const ranked = coins.map((coin, index) => ({
        coin,
        quoteVolume24h: 1_000 - index,
        change24h: null,
      }))
      const data = { exchange, rankedAt: world.now, coins: ranked }
      return world.append(universeStream(exchange), { definition: UniverseRanked, data })
    },
    digest(exchange, timeframe, cadence, rows) {
      const calls = Array.from({ length: rows }, (_, index) => aDigestRow(index + 1))
      const about = { scanId: anId(`scan ${ids}`), exchange, timeframe, cadence, boundary: NOON }
      const data = { ...about, completedAt: NOON + 5_000, scanned: 100, holds: 100 - rows, calls }
      return world.append(scanStream(exchange, timeframe), { definition: ScanCompleted, data })
    },
    subscribe(name, filter, startAfter = world.head()) {
      const data = {
        subscriptionId: anId(name),
        accountId: anId('account'),
        generation: 0,
        sealedUrl: 'sealed',
        sending: { perSecond: null, inOrder: false },
        sealedSecret: 'sealed',
        origin: 'https://bot.example.com',
        filter,
        startAfter,
      }
      return world.append(subscriptionStream(anId(name)), { definition: SubscriptionCreated, data })
    },
    change(name, filter) {
      const data = { subscriptionId: anId(name), filter }
      return world.append(subscriptionStream(anId(name)), { definition: SubscriptionChanged, data })
    },
    subscription(name) {
      const stream = subscriptionStream(anId(name))
      const own = world.events().filter((event) => event.stream === stream)
      const subscription = own.reduce<Subscription | undefined>(evolveSubscription, undefined)
      if (subscription === undefined) throw new Error(`nobody subscribed as ${name}`)
      return subscription
    },
    events: () => log.rows.map(decoded),
    head: () => log.rows.at(-1)?.position ?? START,
  }
  return world
}
