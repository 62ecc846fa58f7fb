import { randomBytes } from 'node:crypto'
import { aVerdict } from '../../../../contracts/domain/verdict.fixture.ts'
import { ServiceError } from '../../../../contracts/errors/errors.ts'
import { VerdictRecorded } from '../../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../../contracts/events/event-definition.ts'
import { verdictStream } from '../../../../contracts/events/streams.ts'
import { appendNext } from '../../../../testing/append-next.ts'
import { createMemoryLog, openMemoryStore } from '../../../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../../../log/event-store.ts'
import { startProjector } from '../../../log/projector/projector.ts'
import { openRowTables } from '../../../log/projector/row-tables.ts'
import { sleep } from '../../../runtime/async/sleep.ts'
import { createFactIds } from '../../../runtime/ids/fact-id.ts'
import { uuidV7 } from '../../../runtime/ids/uuid.ts'
import type { SendOutcome, WebhookRequest } from '../../sending/sender.ts'
import { createSign } from '../../sending/sign.ts'
import { subscriptions as subscriptionsProjection } from '../../state/subscriptions-read-model.ts'
import type { CreateRequest } from '../create-subscription.ts'
import type { SubscriptionsOptions } from '../subscription-deps.ts'
import { createSubscriptionIndex, type SubscriptionIndex } from '../subscription-directory.ts'
import { createSubscriptions, type Subscriptions } from '../subscriptions.ts'
import { type FakeOwners, fakeOwners } from './fake-owners.fixture.ts'

export const NOON = Date.UTC(2026, 10, 21, 12)
export const ORIGIN = { correlationId: 'request', actor: 'key of a test' }
export const ADA = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
export const BOB = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c56'
export const URL = 'https://bot.example.com/hook?token=s3cret'

export const aRequest = (change: Partial<CreateRequest> = {}): CreateRequest => ({
  url: URL,
  events: ['trade_call'],
  start: 'now',
  ...change,
})

/** A process of the service, as far as subscriptions go. */
export interface Room {
  readonly subscriptions: Subscriptions
  readonly index: SubscriptionIndex
  readonly caughtUp: () => Promise<void>
  close(): Promise<void>
}

/** Accounts and a log that several processes share. */
export interface World {
  now: number
  readonly owners: FakeOwners
  readonly sent: WebhookRequest[]
  readonly reports: string[]
  readonly mails: { readonly accountId: string; readonly subject: string; readonly text: string }[]
  /** Thrown instead of taking a mail. */
  mailFault: ServiceError | undefined
  /** How endpoints answer; 200 at once without it. */
  answer: (request: WebhookRequest) => Partial<SendOutcome>
  store(): EventStore
  start(change?: Partial<SubscriptionsOptions>): Room
  /** Appends calls, as the engine does. @returns their positions */
  recordCalls(count: number): Promise<string[]>
  /** Everything in the log, as text. */
  text(): string
  closeAll(): Promise<void>
}

const idOf = createFactIds(Buffer.alloc(32, 3))
const shortSleep: SubscriptionsOptions['sleep'] = (ms, signal) => sleep(Math.min(ms, 2), signal)

export function aWorld(): World {
  const log = createMemoryLog()
  const rooms: Room[] = []
  let bars = 0
  const world: World = {
    now: NOON,
    owners: fakeOwners(() => world.now),
    sent: [],
    reports: [],
    mails: [],
    mailFault: undefined,
    answer: () => ({}),
    store: () => openMemoryStore({ now: () => world.now, log }),
    start(change = {}) {
      const room = startRoom(world, change)
      rooms.push(room)
      return room
    },
    async recordCalls(count) {
      const positions: string[] = []
      for (let n = 0; n < count; n++) {
        bars += 1
        const data = aVerdict({ call: 'BUY', barClose: bars * 3_600_000, verdictId: idOf(`bar ${bars}`) })
        const event = newEvent(VerdictRecorded, { id: data.verdictId, data, meta: ORIGIN })
        positions.push((await appendNext(world.store(), verdictStream(data), [event])).position)
      }
      return positions
    },
    text: () => JSON.stringify(log.rows.map((row) => [row.stream, row.data, row.meta])),
    async closeAll() {
      await Promise.all(rooms.splice(0).map((room) => room.close()))
    },
  }
  world.owners.open(ADA)
  world.owners.open(BOB)
  return world
}

function startRoom(world: World, change: Partial<SubscriptionsOptions>): Room {
  const store = change.store ?? world.store()
  const ending = new AbortController()
  const { signal } = ending
  const now = (): number => world.now
  const newId = (): string => uuidV7(world.now, randomBytes(10))
  const projector = startProjector({
    store,
    tables: openRowTables(':memory:', 'log'),
    projections: [subscriptionsProjection],
    sleep: shortSleep,
  })
  const index = createSubscriptionIndex(projector)
  const subscriptions = createSubscriptions({
    store,
    index,
    idOf,
    newId,
    now,
    signal,
    random: randomBytes,
    sleep: shortSleep,
    owners: world.owners,
    async checkUrl(url) {
      if (url.startsWith('https://')) return { origin: new globalThis.URL(url).origin }
      throw new ServiceError('url_refused', { message: 'The address must begin with https:// and a host.' })
    },
    sender: {
      async send(request) {
        world.sent.push(request)
        return { ...ANSWERED, ...world.answer(request) }
      },
    },
    sign: createSign({ userAgent: 'test' }),
    takeUnasked: async () => undefined,
    async mailOwner(accountId, mail) {
      if (world.mailFault !== undefined) throw world.mailFault
      world.mails.push({ accountId, ...mail })
    },
    coverage: () => ({ highestConfidence: 60, silentTimeframes: ['1d'], exchanges: undefined }),
    baseUrl: () => 'https://signals.example.com',
    report: (event, details) => void world.reports.push(`${event} ${JSON.stringify(details)}`),
    ...change,
  })
  return {
    subscriptions,
    index,
    caughtUp: () => projector.caughtUp(),
    async close() {
      ending.abort()
      await projector.close()
    },
  }
}

const ANSWERED: SendOutcome = {
  kind: 'answered',
  status: 200,
  retryAfterMs: undefined,
  durationMs: 3,
  detail: 'ok',
}
