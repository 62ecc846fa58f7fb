import { expect, test } from 'vitest'
import type { OpenDelivery } from '../../../contracts/delivery-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { START } from '../../../contracts/position.ts'
import { AS_IT_COMES } from '../../../contracts/subscription.ts'
import { initialDeliveries } from '../deliveries/delivery-state.ts'
import type { Matched } from '../signals/signal.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { Endpoint } from './endpoint.ts'
import { QueuedSignals, SignalMemory } from './queued-signals.ts'

const ALONG = { nowMs: 0, wallMs: 0, random: 0, tailCursor: undefined, catchUpPerSecond: 500 }
const NEWS = 1_000_000

/** An endpoint with one new signal, and so many deliveries that wait for another try. */
function endpointWith({ open }: { open: number }): Endpoint {
  const state = { state: 'active', sending: AS_IT_COMES, moved: null, recovery: null }
  const subscription = { subscriptionId: 'one', ...state }
  const endpoint = new Endpoint(subscription as unknown as Subscription, {
    shard: 0,
    token: 0,
    readFrom: { after: START, sequence: 1 },
    nowMs: 0,
    signals: new QueuedSignals(new SignalMemory()),
  })
  const waiting = Array.from(
    { length: open },
    (_, n) => [n + 1, { sequence: n + 1 } as OpenDelivery] as const,
  )
  endpoint.knows({ ...initialDeliveries({ startAfter: START }), open: new Map(waiting) })
  endpoint.handle({ kind: 'loaded', subscription: endpoint.state.subscription }, ALONG)
  endpoint.offer({ sequence: NEWS } as Matched, 0)
  return endpoint
}

test('what waits behind too many open deliveries is no work', () => {
  const full = endpointWith({ open: LIMITS.webhookOpenDeliveries })
  expect(full.hasWork).toBe(false)
  expect(full.take()).toBeUndefined()
})

test('with room for one it is work, once', () => {
  const endpoint = endpointWith({ open: LIMITS.webhookOpenDeliveries - 1 })
  expect(endpoint.hasWork).toBe(true)
  expect(endpoint.take()).toMatchObject({ kind: 'first', matched: { sequence: NEWS } })
  endpoint.offer({ sequence: NEWS + 1 } as Matched, 0)
  expect(endpoint.hasWork).toBe(false)
})

test('it is work again once one of what was open is finished', () => {
  const endpoint = endpointWith({ open: LIMITS.webhookOpenDeliveries })
  endpoint.knows({ ...initialDeliveries({ startAfter: START }), open: new Map() })
  expect(endpoint.hasWork).toBe(true)
})

test('a stretch that is read again after a fault brings no number twice', () => {
  const endpoint = endpointWith({ open: 0 })
  const read = [NEWS, NEWS + 1].map((sequence) => endpoint.offer({ sequence } as Matched, 0))
  expect([read, endpoint.queued]).toEqual([[true, true], 2])
  expect([endpoint.take(), endpoint.take()]).toMatchObject(
    [NEWS, NEWS + 1].map((sequence) => ({ matched: { sequence } })),
  )
  expect(endpoint.hasWork).toBe(false)
})
