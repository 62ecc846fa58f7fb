import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'
import { aVerdict } from '../../../../contracts/domain/verdict.fixture.ts'
import { VerdictRecorded } from '../../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../../contracts/events/event-definition.ts'
import { subscriptionStream, verdictStream } from '../../../../contracts/events/streams.ts'
import {
  SubscriptionCreated,
  SubscriptionPaused,
  SubscriptionResumed,
} from '../../../../contracts/events/subscription-events.ts'
import { START } from '../../../../contracts/infra/position.ts'
import { appendNext } from '../../../../testing/append-next.ts'
import { openEmbeddedStore } from '../../../log/embedded/embedded-store.ts'
import type { EventStore } from '../../../log/event-store.ts'
import { createSoleLeases } from '../../../log/leases/leases.ts'
import { sleep } from '../../../runtime/async/sleep.ts'
import { createInProcessBus } from '../../../runtime/bus/in-process-bus.ts'
import { createFactIds } from '../../../runtime/ids/fact-id.ts'
import { uuidV7 } from '../../../runtime/ids/uuid.ts'
import { openDeliveryLogs } from '../../deliveries/delivery-log.ts'
import { createEgressGuard } from '../../sending/egress-guard.ts'
import { createGuardedSender } from '../../sending/guarded-sender.ts'
import { createSign } from '../../sending/sign.ts'
import { aFilter, anId } from '../../signals/testing/signal-log.fixture.ts'
import { createSecret } from '../../subscriptions/subscription-secrets.ts'
import { createDispatcher } from '../dispatcher.ts'
import { relaySignals } from '../signal-relay.ts'
import { createLogDirectory } from './log-directory.fixture.ts'

/**
 * A process that a test kills: it records verdicts as an engine does, as many as it is told to, and sends them to
 * endpoints of the test meanwhile, whose owners pause and resume them. It resumes all of them when it begins.
 */
const [directory = '', receiver = '', names = '', verdicts = '0'] = process.argv.slice(2)
const SHARDS = 4
const SERIES = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' } as const

/** By whom the events of a subscription are appended. */
function metaOf(name: string) {
  return { correlationId: name, actor: 'child' }
}

const report = (error: unknown): void => void writeSync(2, `${String(error)}\n`)
const newId = (): string => uuidV7(Date.now(), randomBytes(10))
const store = await openEmbeddedStore({ directory, now: Date.now })
const { signal } = new AbortController()

for (const name of names.split(',')) await subscribe(store, name)
const bus = createInProcessBus({ report })
const holder = newId()
const guard = createEgressGuard({ allowPrivate: true, ownHosts: [] })
const dispatcher = createDispatcher({
  store,
  bus,
  shards: SHARDS,
  holder,
  newId,
  sleep,
  report,
  leases: createSoleLeases({ store, shards: SHARDS, report }),
  directory: createLogDirectory(store),
  deliveries: openDeliveryLogs({ store, newId, now: Date.now, sleep, signal }),
  sender: createGuardedSender({ guard, now: Date.now, attemptMs: 400 }),
  sign: createSign({ userAgent: 'child' }),
  idOf: createFactIds(Buffer.from('the same in every run')),
  baseUrl: () => 'https://signals.example.com',
  mail: async () => undefined,
  now: Date.now,
  random: Math.random,
})
const working = Promise.all([dispatcher.run(signal), relaySignals({ store, bus, signal, report })])
writeSync(1, 'ready\n')
for (const name of names.split(',')) await resume(name)
if (Number(verdicts) > 0) pauseNowAndThen().catch(report)
await recordVerdicts(Number(verdicts))
await working

async function subscribe(log: EventStore, name: string): Promise<void> {
  const subscriptionId = anId(name)
  const data = {
    subscriptionId,
    accountId: anId('account'),
    generation: 0,
    filter: aFilter(),
    startAfter: START,
    sealedUrl: `${receiver}/${name}`,
    sending: { perSecond: null, inOrder: false },
    sealedSecret: createSecret((bytes) => new Uint8Array(bytes).fill(7)),
    origin: receiver,
  }
  const meta = { correlationId: name, actor: 'child' }
  // The same id and revision every time: a process that was killed before has done it already.
  const event = newEvent(SubscriptionCreated, { id: anId(`created ${name}`), data, meta })
  await log.append(subscriptionStream(subscriptionId), [event], { expected: 'no-stream' })
}

async function resume(name: string): Promise<void> {
  const data = { subscriptionId: anId(name), from: 'cursor' as const, after: null }
  const event = newEvent(SubscriptionResumed, { id: newId(), data, meta: metaOf(name) })
  await appendNext(store, subscriptionStream(anId(name)), [event])
}

/** A kill may come while one is paused. */
async function pauseNowAndThen(): Promise<void> {
  for (;;) {
    for (const name of names.split(',')) {
      const data = { subscriptionId: anId(name), reason: 'maintenance' }
      const event = newEvent(SubscriptionPaused, { id: newId(), data, meta: metaOf(name) })
      await appendNext(store, subscriptionStream(anId(name)), [event])
      await sleep(20, signal)
      await resume(name)
      await sleep(60, signal)
    }
  }
}

async function recordVerdicts(count: number): Promise<void> {
  const stream = verdictStream(SERIES)
  let revision = -1
  for await (const event of store.read(stream, { direction: 'backwards', limit: 1 }))
    revision = event.revision
  for (let n = 0; n < count; n++) {
    const verdictId = newId()
    const data = aVerdict({ ...SERIES, verdictId, call: 'BUY', barClose: (revision + 1) * 3_600_000 })
    const meta = { correlationId: verdictId, actor: 'child' }
    await store.append(stream, [newEvent(VerdictRecorded, { id: verdictId, data, meta })], {
      expected: revision === -1 ? 'no-stream' : revision,
    })
    revision += 1
    if (n % 20 === 0) await sleep(5, signal)
  }
}
