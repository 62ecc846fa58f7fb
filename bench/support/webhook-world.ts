import { randomBytes } from 'node:crypto'
import { aVerdict } from '../../contracts/domain/verdict.fixture.ts'
import { VerdictRecorded } from '../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../contracts/events/event-definition.ts'
import { subscriptionStream, verdictStream } from '../../contracts/events/streams.ts'
import { SubscriptionCreated } from '../../contracts/events/subscription-events.ts'
import { START } from '../../contracts/infra/position.ts'
import { createSoleLeases } from '../../services/log/leases/leases.ts'
import { sleep } from '../../services/runtime/async/sleep.ts'
import { createInProcessBus } from '../../services/runtime/bus/in-process-bus.ts'
import { createFactIds } from '../../services/runtime/ids/fact-id.ts'
import { createRandomPool } from '../../services/runtime/ids/random-pool.ts'
import { uuidV7 } from '../../services/runtime/ids/uuid.ts'
import { openDeliveryLogs } from '../../services/webhooks/deliveries/delivery-log.ts'
import { createDispatcher } from '../../services/webhooks/dispatch/dispatcher.ts'
import type { Dispatcher } from '../../services/webhooks/dispatch/dispatcher-options.ts'
import { relaySignals } from '../../services/webhooks/dispatch/signal-relay.ts'
import { createLogDirectory } from '../../services/webhooks/dispatch/testing/log-directory.fixture.ts'
import { createEgressGuard } from '../../services/webhooks/sending/egress-guard.ts'
import { createGuardedSender } from '../../services/webhooks/sending/guarded-sender.ts'
import type { ResolveName } from '../../services/webhooks/sending/resolve-name.ts'
import type { Sender } from '../../services/webhooks/sending/sender.ts'
import { createSign } from '../../services/webhooks/sending/sign.ts'
import { createSecret } from '../../services/webhooks/subscriptions/subscription-secrets.ts'
import { openScratch } from './scratch.ts'

const SHARDS = 16
const report = (error: unknown): void => void process.stderr.write(`${String(error)}\n`)
/** As a service draws them. */
const random = createRandomPool(randomBytes)
const newId = (): string => uuidV7(Date.now(), random(10))

/** A store on the disk with subscriptions, and a dispatcher between it and their endpoints. */
// oxlint-disable-next-line max-lines-per-function -- opens and closes the parts of one world in order
export async function openWebhookWorld({
  resolve: resolveName,
  ...options
}: {
  readonly attemptMs?: number
  readonly connectionsPerOrigin?: number
  readonly resolve?: ResolveName
} = {}) {
  const scratch = await openScratch('webhooks')
  const { store } = scratch
  const bus = createInProcessBus({ report })
  const ending = new AbortController()
  const dying = new AbortController()
  const { signal } = ending
  const revisions = new Map<string, number>()
  let delivered = 0
  let watcher: { readonly count: number; readonly resolve: () => void } | undefined
  let working: Promise<unknown> = Promise.resolve()
  let dispatcher: Dispatcher | undefined
  let sender: Sender | undefined

  return {
    get delivered() {
      return delivered
    },
    async subscribe(urls: readonly string[]): Promise<void> {
      await Promise.all(
        urls.map(async (sealedUrl) => {
          const id = newId()
          const data = {
            subscriptionId: id,
            accountId: id,
            generation: 0,
            startAfter: START,
            sealedUrl,
            sending: { perSecond: null, inOrder: false },
            sealedSecret: createSecret((bytes) => randomBytes(bytes)),
            origin: 'http://127.0.0.1',
            filter: {
              events: ['trade_call' as const],
              timeframes: null,
              assets: null,
              exchanges: null,
              minConfidence: 0,
              minStrength: 0,
              onlyChanges: false,
              digest: null,
            },
          }
          const event = newEvent(SubscriptionCreated, {
            id: newId(),
            data,
            meta: { correlationId: id, actor: 'bench' },
          })
          await store.append(subscriptionStream(id), [event], { expected: 'no-stream' })
        }),
      )
    },
    /** Appends verdicts of one series, several in one append. */
    async record(count: number, atOnce = 1): Promise<void> {
      const series = { exchange: 'SIM', coin: 'BTC', timeframe: '1m' } as const
      const stream = verdictStream(series)
      for (let left = count; left > 0; left -= atOnce) {
        const revision = revisions.get(stream) ?? -1
        const events = Array.from({ length: Math.min(atOnce, left) }, (_, index) => {
          const verdictId = newId()
          const barClose = (revision + 1 + index) * 60_000
          const data = aVerdict({ ...series, verdictId, call: 'BUY', barClose })
          return newEvent(VerdictRecorded, {
            id: verdictId,
            data,
            meta: { correlationId: verdictId, actor: 'bench' },
          })
        })
        await store.append(stream, events, { expected: revision === -1 ? 'no-stream' : revision })
        revisions.set(stream, revision + events.length)
      }
    },
    start(): void {
      const holder = newId()
      const guard = createEgressGuard({
        allowPrivate: true,
        ownHosts: [],
        ...(resolveName && { resolve: resolveName }),
      })
      sender = createGuardedSender({ guard, now: Date.now, ...options })
      dispatcher = createDispatcher({
        store,
        bus,
        shards: SHARDS,
        holder,
        newId,
        sleep,
        report,
        leases: createSoleLeases({ store, shards: SHARDS, report }),
        directory: createLogDirectory(store),
        deliveries: openDeliveryLogs({ store, newId, now: Date.now, sleep, signal: dying.signal }),
        sender,
        sign: createSign({ userAgent: 'bench' }),
        idOf: createFactIds(randomBytes(32)),
        baseUrl: () => 'https://signals.example.com',
        mail: async () => undefined,
        now: Date.now,
        random: Math.random,
        metrics: {
          attempt({ result }) {
            if (result === 'delivered') delivered += 1
            if (watcher !== undefined && delivered >= watcher.count) watcher.resolve()
          },
        },
      })
      working = Promise.all([dispatcher.run(signal), relaySignals({ store, bus, signal, report })])
    },
    /** How many subscriptions the dispatcher has taken up whose signals come with its pass. */
    get live() {
      const shards = dispatcher?.health().shards ?? []
      return shards.reduce((sum, { subscriptions, behind }) => sum + subscriptions - behind, 0)
    },
    /** Resolves once so many deliveries were recorded in all. */
    async until(count: number): Promise<void> {
      if (delivered >= count) return
      await new Promise<void>((resolve) => {
        watcher = { count, resolve }
      })
      watcher = undefined
    },
    /** How many attempts stand in an event of the delivery logs, on average. */
    async attemptsPerEvent(): Promise<number> {
      let [events, attempts] = [0, 0]
      for await (const { data } of store.readAll({ filter: { types: ['DeliveriesAttempted'] } })) {
        events += 1
        attempts += Array.isArray(data.attempts) ? data.attempts.length : 0
      }
      return attempts / events
    },
    async close(): Promise<void> {
      ending.abort()
      await working
      await sender?.close()
      dying.abort()
      await scratch.close()
    },
  }
}

export type WebhookWorld = Awaited<ReturnType<typeof openWebhookWorld>>
