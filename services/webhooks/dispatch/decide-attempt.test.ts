import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { OpenDelivery } from '../../../contracts/delivery-events.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import type { SendOutcome } from '../sending/sender.ts'
import type { Subscription } from '../state/subscription-state.ts'
import {
  decideAttempt,
  type EndpointHealth,
  GONE_REASON,
  HEALTHY,
  nextAttemptAt,
  probeAt,
  RETRY_STEPS_MS,
  retryAt,
} from './decide-attempt.ts'

const NOW = Date.UTC(2026, 10, 21)
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const outcome = (change: Partial<SendOutcome> = {}): SendOutcome => ({
  kind: 'answered',
  status: 500,
  retryAfterMs: undefined,
  durationMs: 1,
  detail: '',
  ...change,
})
const lost = outcome({ kind: 'timed_out', status: undefined })
const decide = (health: Partial<EndpointHealth>, of: SendOutcome, change = {}) =>
  decideAttempt(
    { ...HEALTHY, ...health },
    { outcome: of, attemptsBefore: 0, isProbe: health.state === 'degraded', at: NOW, random: 0.5, ...change },
  )

describe('an attempt', () => {
  test.each([200, 201, 204, 299])('answered %i is delivered', (status) => {
    expect(decide({}, outcome({ status }))).toMatchObject({
      result: 'delivered',
      nextAt: null,
      change: undefined,
    })
  })

  test.each([100, 199, 300, 301, 304, 400, 404, 429, 500])('answered %i has failed', (status) => {
    const { result, reason, attempts } = decide({}, outcome({ status }))
    expect([result, reason, attempts]).toEqual(['failed', 'status', 1])
  })

  test('is the last of ten', () => {
    expect(decide({}, outcome(), { attemptsBefore: 8 }).result).toBe('failed')
    expect(decide({}, outcome(), { attemptsBefore: 9 })).toMatchObject({ result: 'exhausted', nextAt: null })
  })

  test('at a degraded endpoint uses nothing up, however often it fails', () => {
    const probe = decide({ state: 'degraded', degradedAt: NOW - HOUR_MS, failuresInARow: 30 }, lost, {
      attemptsBefore: 9,
    })
    expect(probe).toMatchObject({ result: 'failed', attempts: 9, change: undefined })
  })

  test.each([
    [399, 0],
    [400, 1],
    [401, 0],
    [422, 1],
    [429, 0],
    [499, 1],
    [500, 0],
    [503, 0],
  ])(
    'at a degraded endpoint that answered %i uses up %i: only a body that was refused will be again',
    (status, used) => {
      const health = { state: 'degraded', degradedAt: NOW - HOUR_MS, failuresInARow: 30 } as const
      expect(decide(health, outcome({ status })).attempts).toBe(used)
    },
  )
})

describe('an endpoint', () => {
  test.each([
    ['the third that did not reach it', { failuresInARow: 2, unreachableInARow: 2 }, lost, true],
    ['the second', { failuresInARow: 1, unreachableInARow: 1 }, lost, false],
    ['the third, after one that did', { failuresInARow: 2, unreachableInARow: 1 }, lost, false],
    ['the fifth of any kind', { failuresInARow: 4 }, outcome(), true],
    ['the fourth', { failuresInARow: 3 }, outcome(), false],
  ] as const)('is degraded by %s: %o', (_, health, of, isDegraded) => {
    const { change, health: after } = decide(health, of)
    expect(change?.kind === 'degraded').toBe(isDegraded)
    expect(after).toMatchObject(isDegraded ? { state: 'degraded', degradedAt: NOW } : { state: 'active' })
  })

  test('recovers with one success', () => {
    const after = decide(
      { state: 'degraded', degradedAt: NOW - DAY_MS, failuresInARow: 99 },
      outcome({ status: 200 }),
    )
    expect(after).toMatchObject({ change: { kind: 'recovered' }, health: HEALTHY })
  })

  test('that is gone is degraded at once, and disabled when it says so again an hour later, not before', () => {
    const gone = outcome({ status: 410 })
    const first = decide({}, gone)
    expect(first).toMatchObject({
      change: { kind: 'degraded', reason: GONE_REASON },
      health: { goneAt: NOW },
    })
    const health = { ...first.health, goneAt: NOW - HOUR_MS + 1 }
    expect(decide(health, gone).change).toBeUndefined()
    expect(decide({ ...health, goneAt: NOW - HOUR_MS }, gone).change?.kind).toBe('disabled')
  })

  test.each([
    ['5 days, 20 failures, over half a day', 5 * DAY_MS, 19, 13 * HOUR_MS, true],
    ['less than 5 days', 5 * DAY_MS - 1, 19, 13 * HOUR_MS, false],
    ['19 failures', 5 * DAY_MS, 18, 13 * HOUR_MS, false],
    ['less than half a day of failures', 5 * DAY_MS, 19, 12 * HOUR_MS - 1, false],
  ])('after %s is disabled or not', (_, forMs, failuresInARow, spanMs, isDisabled) => {
    const health = { degradedAt: NOW - forMs, failuresInARow, firstFailureAt: NOW - spanMs }
    expect(decide({ state: 'degraded', ...health }, lost).change?.kind).toBe(
      isDisabled ? 'disabled' : undefined,
    )
  })
})

describe('the time of the next try', () => {
  test('is the step, a fifth more or less', () => {
    for (const [attempts, step] of RETRY_STEPS_MS.entries()) {
      if (attempts === 0) continue
      const at = (random: number) => retryAt({ attempts, at: NOW, retryAfterMs: undefined, random })
      expect([at(0), at(0.5)]).toEqual([NOW + step * 0.8, NOW + step])
    }
    expect(retryAt({ attempts: RETRY_STEPS_MS.length, at: NOW, retryAfterMs: 1, random: 0 })).toBeUndefined()
  })

  test('is never before what the endpoint asked for, up to an hour or four steps', () => {
    const given = fc.record({
      attempts: fc.integer({ min: 1, max: RETRY_STEPS_MS.length - 1 }),
      retryAfterMs: fc.integer({ min: 0, max: 10 * DAY_MS }),
      random: fc.double({ min: 0, max: 0.999, noNaN: true }),
    })
    fc.assert(
      fc.property(given, ({ attempts, retryAfterMs, random }) => {
        const wait = retryAt({ attempts, at: 0, retryAfterMs, random }) ?? 0
        const step = RETRY_STEPS_MS[attempts] ?? 0
        const most = Math.max(4 * step, HOUR_MS)
        expect(wait).toBeGreaterThanOrEqual(Math.min(retryAfterMs, most))
        expect(wait).toBeLessThanOrEqual(Math.max(1.2 * step + 1, Math.min(retryAfterMs, most)))
      }),
    )
  })

  test('of a probe is 10 s after it was degraded, then doubles up to 15 min', () => {
    const waits: number[] = []
    for (let at = NOW; waits.length < 8; ) {
      const next = probeAt({ degradedAt: NOW, lastProbeAt: at, askedMs: 0, isGone: false, random: 0.5 })
      waits.push((next - at) / 1_000)
      at = next
    }
    expect(waits).toEqual([10, 10, 20, 40, 80, 160, 320, 640])
  })

  test('as its log tells it is that of the next probe while it is degraded, and none while nothing is sent', () => {
    const lastAttemptAt = NOW - 10_000
    const open = new Map(
      [3, 4].map((sequence) => [sequence, { nextAt: NOW - 20_000 + sequence } as OpenDelivery]),
    )
    const early = NOW - 70_000
    const next = (
      state: Subscription['state'],
      change: Partial<Deliveries> = {},
      reason = 'timed out',
      now = early,
    ) =>
      nextAttemptAt(
        { state, stateSince: early, reason },
        { open, lastAttemptAt, notBefore: null, ...change },
        now,
      )
    expect(next('active')).toBe(NOW - 19_997)
    // The log does not hold by how much a probe is spread: the latest time is the one to be told.
    expect(next('degraded')).toBe(lastAttemptAt + 1.2 * 60_000)
    expect(next('degraded', { notBefore: NOW + HOUR_MS })).toBe(NOW + HOUR_MS)
    expect(next('degraded', { lastAttemptAt: null })).toBe(NOW - 70_000 + 1.2 * 10_000)
    expect(next('degraded', {}, GONE_REASON)).toBe(lastAttemptAt + HOUR_MS)
    for (const silent of ['paused', 'disabled', 'stopped'] as const) expect(next(silent)).toBeNull()
    expect(next('degraded', { open: new Map() })).toBeNull()
    // What is overdue, after a stop of the service, is tried now and never in the past.
    for (const state of ['active', 'degraded'] as const)
      expect(next(state, {}, 'timed out', NOW + HOUR_MS)).toBe(NOW + HOUR_MS)
  })
})
