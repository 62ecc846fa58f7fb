import { expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { type NoticeKind } from '../../../contracts/notice-events.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { createOwnerNotices } from './owner-notices.ts'
import { answered, unreachable, useDispatchWorld, world } from './testing/dispatch-world.fixture.ts'

useDispatchWorld()

const MINUTE_MS = 60_000
const TRADES = { filter: { events: ['trade_call' as const] } }
const kinds = (): string[] => world.notices.map((notice) => notice.split(' ')[0] ?? '')

/** A subscription as its stream has it, and notices about it, as one process sends them. */
function process(notify: (subscription: Subscription, kind: NoticeKind) => Promise<void>) {
  const { store, newId, time } = world
  const signal = new AbortController().signal
  return createOwnerNotices({ store, newId, now: time.now, sleep: time.sleep, signal, notify })
}
const failing = (change: Partial<Subscription> = {}): Subscription =>
  ({
    subscriptionId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c57',
    state: 'degraded',
    stateSince: world.time.now(),
    hasRecovered: false,
    ...change,
  }) as Subscription

test('an owner hears that an endpoint fails, and that it works again, once each and at once', async () => {
  let isDead = true
  world.endpoint('bot', () => (isDead ? unreachable : answered(200)))
  await world.subscribe('bot', TRADES)
  const before = await world.start()
  await world.verdicts(4)
  await world.time.pass(MINUTE_MS, 1_000)
  expect(kinds()).toEqual(['failing'])
  await before.stop()
  await world.start()
  await world.time.pass(MINUTE_MS, 1_000)
  expect(kinds()).toEqual(['failing'])
  isDead = false
  await world.time.pass(5 * MINUTE_MS, 1_000)
  expect(kinds()).toEqual(['failing', 'recovered'])
})

test('a process that starts tells what was not told before the one that recorded the change died', async () => {
  await world.subscribe('bot', TRADES)
  await world.say('bot', 'SubscriptionDegraded', { reason: 'failing' })
  await world.say('bot', 'SubscriptionRecovered')
  await world.subscribe('late', TRADES)
  await world.say('late', 'SubscriptionDisabled', { reason: 'stopped', by: 'operator' })
  const running = await world.start()
  await world.time.pass(5_000, 1_000)
  expect(kinds().toSorted()).toEqual(['disabled', 'recovered'])
  await running.stop()
  await world.start()
  await world.time.pass(5_000, 1_000)
  expect(kinds()).toHaveLength(2)
})

test('an owner hears of a stop by the operator while it is sent to', async () => {
  await world.subscribe('bot', TRADES)
  await world.start()
  await world.say('bot', 'SubscriptionDisabled', { reason: 'complaints', by: 'operator' })
  await world.time.pass(5_000, 1_000)
  expect(kinds()).toEqual(['disabled'])
})

test('of two processes one sends, also while the other has not ended', async () => {
  const sent: string[] = []
  const sending = Promise.withResolvers<void>()
  const [one, other] = ['one', 'other'].map((name) =>
    process(async () => {
      sent.push(name)
      await sending.promise
    }),
  )
  const subscription = failing()
  const first = one?.notify(subscription, 'failing')
  await world.time.idle()
  await other?.notify(subscription, 'failing')
  expect(await other?.next(subscription)).toEqual({
    kind: 'failing',
    at: subscription.stateSince + MINUTE_MS,
  })
  sending.resolve()
  await first
  expect(sent).toEqual(['one'])
  await Promise.all([one?.notify(subscription, 'failing'), other?.notify(subscription, 'failing')])
  expect(sent).toEqual(['one'])
  const both = failing({ stateSince: subscription.stateSince + 1 })
  await Promise.all([one?.notify(both, 'failing'), other?.notify(both, 'failing')])
  expect(sent).toHaveLength(2)
})

test('what a process began and did not end is sent by another within a minute', async () => {
  const sent: string[] = []
  const subscription = failing()
  const dying = process(() => Promise.reject(new Error('killed')))
  await expect(dying.notify(subscription, 'failing')).rejects.toThrow('killed')
  const other = process(async (_subscription, kind) => void sent.push(kind))
  const due = await other.next(subscription)
  expect(due?.at).toBe(subscription.stateSince + MINUTE_MS)
  await world.time.pass(MINUTE_MS)
  await other.notify(subscription, 'failing')
  expect(sent).toEqual(['failing'])
  expect(await other.next(subscription)).toMatchObject({ kind: 'degraded_1h' })
})

test('an endpoint that flaps is told so often in an hour, and its newest state when the hour has room', async () => {
  const sent: number[] = []
  const notices = process(async () => void sent.push(world.time.now()))
  const began = world.time.now()
  for (let n = 0; n < 60; n++) {
    const flapping = n % 2 === 0 ? failing() : failing({ state: 'active', hasRecovered: true })
    const due = await notices.next(flapping)
    if (due !== undefined && due.at <= world.time.now()) await notices.notify(flapping, due.kind)
    await world.time.pass(30_000)
  }
  expect(sent).toHaveLength(LIMITS.webhookNoticesPerHour)
  const last = failing()
  expect((await notices.next(last))?.at).toBe(began + HOUR_MS)
  await world.time.pass(HOUR_MS)
  expect((await notices.next(last))?.at).toBeLessThanOrEqual(world.time.now())
})

test('a change of days ago is no news', async () => {
  const notices = process(() => expect.fail())
  const old = world.time.now() - 25 * HOUR_MS
  expect(
    await notices.next(failing({ state: 'active', hasRecovered: true, stateSince: old })),
  ).toBeUndefined()
  expect((await notices.next(failing({ stateSince: old })))?.kind).toBe('degraded_1h')
})
