import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { SubscriptionAnswer } from '../../../contracts/answers/webhook.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { CursorMoved } from '../../../contracts/events/delivery-events.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { deliveryStream } from '../../../contracts/events/streams.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { accounts as accountsProjection } from '../../../projections/index.ts'
import { appendNext } from '../../../testing/append-next.ts'
import { createMemoryLog, openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import {
  type Accounts,
  createAccountIndex,
  createAccounts,
  createSubscriberAccounts,
  type IssuedKey,
} from '../../accounts/index.ts'
import { createServer } from '../../composition/server.ts'
import type { EventStore } from '../../log/event-store.ts'
import { startProjector } from '../../log/projector/projector.ts'
import { openRowTables } from '../../log/projector/row-tables.ts'
import { mcpOptions } from '../../mcp/testing/mcp-edge.fixture.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { createMemoryCache } from '../../runtime/cache/memory-cache.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import { uuidV7 } from '../../runtime/ids/uuid.ts'
import { initialDeliveries, toSnapshot } from '../../webhooks/deliveries/delivery-state.ts'
import {
  createBlockList,
  createDeliveryQueries,
  createEgressGuard,
  createSign,
  createSubscriptionIndex,
  createSubscriptions,
  type Sender,
  subscriptionsReadModel as subscriptionsProjection,
  type WebhookRequest,
} from '../../webhooks/index.ts'
import { serverOptions } from './server-options.fixture.ts'

export const URL = 'https://bot.example.com/hook'
export const NOBODYS = '019abcde-7c00-7001-8000-0000000000ff'
export const TOKEN = 'operator-token-for-tests'
export const ORIGIN = { correlationId: 'request', actor: 'test' }
const NOON = Date.UTC(2026, 10, 21, 12)

/** The fields of a subscription, and whatever else an answer has. */
type Body = SubscriptionAnswer & Readonly<Record<string, unknown>>

interface Ask {
  readonly payload?: object | string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** The key that is sent; none where it is empty. */
  readonly as?: string
}

/** The routes of webhooks over real accounts, real subscriptions, and a log in memory. */
export interface WebhookEdge {
  readonly app: FastifyInstance
  readonly accounts: Accounts
  readonly key: string
  /** The secret of a session of the same account. */
  readonly session: string
  now: number
  readonly sent: WebhookRequest[]
  /** Test deliveries counted so far. */
  tests: number
  ask(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    url: string,
    ask?: Ask,
  ): Promise<{ status: number; headers: Record<string, unknown>; body: Body }>
  create(payload?: object, headers?: Record<string, string>): ReturnType<WebhookEdge['ask']>
  createId(): Promise<string>
  /** Writes down how many POSTs a subscription has had today. */
  recordPosts(subscriptionId: string, today: number): Promise<void>
  issueKey(email: string): Promise<IssuedKey & { readonly accountId: string }>
  /** Everything in the log, as text. */
  text(): string
  close(): Promise<void>
}

export interface WebhookEdgeOptions {
  /** The sender; without one requests are only kept. */
  readonly sender?: Sender
  readonly allowPrivate?: boolean
  /** The log; one in memory without it. */
  readonly store?: EventStore
  /** When it is, Unix milliseconds. */
  readonly now?: number
}

export async function aWebhookEdge(options: WebhookEdgeOptions = {}): Promise<WebhookEdge> {
  const { sender, allowPrivate = false } = options
  const log = createMemoryLog()
  const ending = new AbortController()
  const now = (): number => edge.now
  const parts = {
    store: options.store ?? openMemoryStore({ now, log }),
    random: randomBytes,
    sleep,
    signal: ending.signal,
    now,
    newId: () => uuidV7(now(), randomBytes(10)),
    idOf: createFactIds(Buffer.alloc(32, 3)),
    deriveSecret: () => Buffer.alloc(32, 7),
    report: () => undefined,
  }
  const sent: WebhookRequest[] = []
  const state = { now: options.now ?? NOON, tests: 0 }
  const edge = Object.assign(state, { sent }) as WebhookEdge & typeof state
  const projector = startProjector({
    store: parts.store,
    tables: openRowTables(':memory:', 'log'),
    projections: [accountsProjection, subscriptionsProjection],
    sleep: (ms, signal) => sleep(Math.min(ms, 4), signal),
  })
  const index = createAccountIndex(projector)
  let mail = ''
  const accounts = createAccounts({
    ...parts,
    index,
    cache: createMemoryCache({ now }),
    mailer: { send: async ({ text }) => void (mail = text), close: async () => undefined },
    publicUrl: () => 'https://signals.example.com',
  })
  const guard = createEgressGuard({
    allowPrivate,
    isBlocked: createBlockList(['blocked.example.com']),
    ownHosts: ['signals.example.com'],
    resolve: async (name) => (name === 'bot.example.com' ? [{ address: '93.184.215.14', family: 4 }] : []),
  })
  const coverage = () => ({ highestConfidence: 60, silentTimeframes: ['1d'] as const, exchanges: undefined })
  const subscriptions = createSubscriptions({
    ...parts,
    coverage,
    index: createSubscriptionIndex(projector),
    owners: createSubscriberAccounts({ ...parts, index }),
    checkUrl: (url) => guard.checkReachable(url),
    sender: sender ?? {
      async send(request) {
        sent.push(request)
        return { kind: 'answered', status: 204, retryAfterMs: undefined, durationMs: 7, detail: '' }
      },
    },
    sign: createSign({ userAgent: 'test' }),
    mailOwner: accounts.mailOwner,
    async takeUnasked(what) {
      if (what === 'test' && ++edge.tests > LIMITS.webhookTestsPerMinute)
        throw new ServiceError('rate_limited')
    },
    baseUrl: () => 'https://signals.example.com',
  })
  const queries = createDeliveryQueries({
    store: parts.store,
    marketNow: now,
    baseUrl: () => 'https://signals.example.com',
  })
  const app = await createServer(
    serverOptions({
      operatorToken: TOKEN,
      mcp: mcpOptions(),
      webhooks: {
        subscriptions,
        queries,
        now,
        identify: accounts.identify,
      },
    }),
  )
  const issueKey = (email: string) => accounts.createKey({ email }, { label: '' }, ORIGIN)
  const email = 'ada@example.com'
  const { key } = await issueKey(email)
  await accounts.requestSignIn({ email, client: '192.0.2.1' }, ORIGIN)
  const [code = ''] = /\b[0-9A-Z]{5}-[0-9A-Z]{5}\b/.exec(mail) ?? []
  const { secret: session } = await accounts.beginSession({ email, code }, ORIGIN)

  const ask: WebhookEdge['ask'] = async (method, url, { payload, headers = {}, as = key } = {}) => {
    const json = payload === undefined ? {} : { 'content-type': 'application/json' }
    const authorization = as === '' ? {} : { authorization: `Bearer ${as}` }
    const answer = await app.inject({
      method,
      url,
      headers: { ...json, ...authorization, ...headers },
      ...(payload !== undefined && { payload }),
    })
    const body = answer.body === '' ? {} : answer.json<object>()
    return { status: answer.statusCode, headers: answer.headers, body: body as Body }
  }
  const create: WebhookEdge['create'] = (payload = {}, headers = {}) =>
    ask('POST', '/api/webhooks', { payload: { url: URL, events: ['trade_call'], ...payload }, headers })
  return Object.assign(edge, {
    app,
    accounts,
    key,
    session,
    issueKey,
    ask,
    create,
    createId: async () => (await create()).body.id,
    async recordPosts(subscriptionId: string, today: number) {
      const from = now() - (now() % 86_400_000)
      const delivered = {
        ...toSnapshot(initialDeliveries({ startAfter: 'start' })),
        posts: { minute: { from, count: 0 }, day: { from, count: today } },
        counts: { delivered: today, failed: 0, exhausted: 0, skipped: 0 },
      }
      const data = { subscriptionId, token: 1, state: delivered }
      const event = newEvent(CursorMoved, { id: parts.newId(), data, meta: ORIGIN })
      await appendNext(parts.store, deliveryStream(subscriptionId), [event])
    },
    text: () => JSON.stringify(log.rows.map((row) => [row.stream, row.data])),
    async close() {
      ending.abort()
      await Promise.all([subscriptions.ended(), accounts.close()])
      await app.close()
      await projector.close()
    },
  })
}
