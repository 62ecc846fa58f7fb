import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Fact, paymentFact } from '../../../projections/given-events.fixture.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../../log/event-store.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { createPaymentChanges, type PaymentChanges } from './payment-changes.ts'

const FOR_EVER_MS = 3_600_000
const never = new AbortController().signal
const paymentId = '0190a000-0000-7000-8000-0000000000b1'
const confirmed = paymentFact('SettlementConfirmed', {
  paymentId,
  transaction: `0x${'7a'.repeat(32)}`,
  blockNumber: null,
  blockHash: null,
  by: 'gateway',
})
const requested = paymentFact('SettlementRequested', { paymentId, attempt: 1, settler: 'own' })
const { stream } = confirmed

let store: EventStore
let ending: AbortController
let reports: string[]
let changes: PaymentChanges
let ids = 0

const append = (fact: Fact) =>
  store.append(
    fact.stream,
    [{ ...fact.event, id: `0190a000-0000-7000-8000-${String(++ids).padStart(12, '0')}` }],
    { expected: 'any' },
  )
const follow = (over: EventStore) =>
  createPaymentChanges({
    store: over,
    sleep,
    signal: ending.signal,
    report: (_, { reason }) => void reports.push(reason ?? ''),
  })

beforeEach(async () => {
  store = openMemoryStore({ now: Date.now })
  ending = new AbortController()
  reports = []
  changes = follow(store)
  // It begins at the end of the log, once it has looked where that is.
  for (let turn = 0; turn < 5; turn++) await setImmediate()
})
afterEach(async () => {
  ending.abort()
  await changes.ended
})

describe('who listens', () => {
  test('is woken by a settlement of its stream', async () => {
    const listener = changes.listen(stream)
    const woken = listener.next(FOR_EVER_MS, never)
    await append(confirmed)
    expect(await woken).toBeUndefined()
    listener.end()
  })

  test('is not made to wait for one that came before it asked, and waits again after it', async () => {
    const [first, second] = [changes.listen(stream), changes.listen(stream)]
    const seen = second.next(FOR_EVER_MS, never)
    await append(confirmed)
    await seen
    await first.next(FOR_EVER_MS, never)
    let isOver = false
    const again = first.next(FOR_EVER_MS, never).then(() => (isOver = true))
    for (let turn = 0; turn < 5; turn++) await setImmediate()
    expect(isOver).toBe(false)
    await append(confirmed)
    expect(await again).toBe(true)
  })

  test('is not woken by other streams, nor by steps that settle nothing', async () => {
    const listener = changes.listen(stream)
    let isOver = false
    const waiting = listener.next(FOR_EVER_MS, never).then(() => (isOver = true))
    await append(requested)
    await append({ ...confirmed, stream: `${stream}0` })
    for (let turn = 0; turn < 5; turn++) await setImmediate()
    expect(isOver).toBe(false)
    await append(confirmed)
    expect(await waiting).toBe(true)
  })

  test.each(['its own signal', 'the end'])('waits no longer than %s', async (which) => {
    const own = new AbortController()
    const waiting = changes.listen(stream).next(FOR_EVER_MS, own.signal)
    if (which === 'the end') ending.abort()
    else own.abort()
    expect(await waiting).toBeUndefined()
  })
})

test('a subscription that fails is reported', async () => {
  const broken: EventStore = {
    ...store,
    subscribe() {
      throw new Error('the log is gone')
    },
  }
  await follow(broken).ended
  expect(reports).toEqual(['the log is gone'])
})
