import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { OpenDelivery } from '../../../contracts/events/delivery-events.ts'
import type { SendOutcome } from '../sending/sender.ts'
import type { Subscription } from '../state/subscription-state.ts'
import {
  decideAttempt,
  endpointRestMs,
  isFailing,
  nextAttemptAt,
  oldestTried,
  RETRY_STEPS_MS,
  retryAt,
} from './delivery-policy.ts'

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
const WELL = { failuresInARow: 0, firstFailureAt: null, lastAttemptAt: null, notBefore: null }
const FAILING = { ...WELL, failuresInARow: 30, firstFailureAt: NOW - HOUR_MS, lastAttemptAt: NOW - 1_000 }
const decide = (standing: Partial<typeof FAILING>, of: SendOutcome, attemptsBefore = 0) =>
  decideAttempt({ ...WELL, ...standing }, { outcome: of, attemptsBefore, at: NOW, random: 0.5 })

describe('an attempt', () => {
  test.each([200, 201, 204, 299])('answered %i is delivered', (status) => {
    expect(decide(FAILING, outcome({ status }))).toMatchObject({ result: 'delivered', nextAt: null })
  })

  test.each([100, 199, 300, 301, 304, 400, 404, 429, 500])('answered %i has failed', (status) => {
    const { result, reason, attempts } = decide({}, outcome({ status }))
    expect([result, reason, attempts]).toEqual(['failed', 'status', 1])
  })

  test('is the last of ten', () => {
    expect(decide({}, outcome(), 8).result).toBe('failed')
    expect(decide({}, outcome(), 9)).toMatchObject({ result: 'exhausted', nextAt: null })
  })

  test('at an endpoint that fails uses nothing up, however often it fails', () => {
    expect(decide(FAILING, lost, 9)).toMatchObject({ result: 'failed', attempts: 9, disable: undefined })
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
    'at an endpoint that fails and answered %i uses up %i: only a body that was refused will be again',
    (status, used) => {
      expect(decide(FAILING, outcome({ status })).attempts).toBe(used)
    },
  )
})

describe('an endpoint', () => {
  test('fails with the fifth failure in a row', () => {
    expect([4, 5].map((failuresInARow) => isFailing({ failuresInARow }))).toEqual([false, true])
  })

  test('that is gone is disabled at once', () => {
    expect(decide({}, outcome({ status: 410 })).disable).toBe('answered 410 Gone')
  })

  test.each([
    ['5 days and 20 failures', 5 * DAY_MS, 19, true],
    ['less than 5 days', 5 * DAY_MS - 1, 19, false],
    ['19 failures', 5 * DAY_MS, 18, false],
  ])('after %s is disabled or not', (_, forMs, failuresInARow, isDisabled) => {
    const { disable } = decide({ failuresInARow, firstFailureAt: NOW - forMs }, lost)
    expect(disable !== undefined).toBe(isDisabled)
  })

  test('that has failed for an hour is worth one mail, with the first attempt after that', () => {
    const firstFailureAt = NOW - HOUR_MS
    const mail = (change: object) => decide({ ...FAILING, firstFailureAt, ...change }, lost).failing
    expect(mail({})).toEqual({ since: firstFailureAt, reason: '31 failures in a row, the last: timed out' })
    expect(mail({ firstFailureAt: firstFailureAt + 1 })).toBeUndefined()
    expect(mail({ firstFailureAt: firstFailureAt - 2_000 })).toBeUndefined()
    expect(mail({ failuresInARow: 4 })).toBeUndefined()
  })

  test('that fails rests for 10 s, then for as long as it has failed, up to 15 min', () => {
    const waits: number[] = []
    for (let at = NOW; waits.length < 9; ) {
      const standing = { ...FAILING, firstFailureAt: NOW, lastAttemptAt: at }
      waits.push(endpointRestMs(standing, at) / 1_000)
      at += (waits.at(-1) ?? 0) * 1_000
    }
    expect(waits).toEqual([10, 10, 20, 40, 80, 160, 320, 640, 900])
  })

  test('rests for as long as it asked for, and no longer after the clock was set back', () => {
    const standing = { ...WELL, failuresInARow: 1, lastAttemptAt: NOW, notBefore: NOW + HOUR_MS }
    expect([NOW - DAY_MS, NOW, NOW + HOUR_MS].map((at) => endpointRestMs(standing, at))).toEqual([
      HOUR_MS,
      HOUR_MS,
      0,
    ])
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

  test('as an answer shows it is that of the endpoint, of its first delivery, or now where that is overdue', () => {
    const open = new Map(
      [3, 4].map((sequence) => [sequence, { nextAt: NOW + sequence } as OpenDelivery] as const),
    )
    const at = (state: Subscription['state'], change: object = {}, now = NOW) =>
      nextAttemptAt({ state } as Subscription, { ...WELL, open, ...change }, now)
    expect(at('active')).toBe(NOW + 3)
    expect(at('active', {}, NOW + DAY_MS)).toBe(NOW + DAY_MS)
    expect(at('active', { ...FAILING, lastAttemptAt: NOW })).toBe(NOW + 900_000)
    expect(at('active', { notBefore: NOW + HOUR_MS })).toBe(NOW + HOUR_MS)
    expect(at('active', { open: new Map() })).toBeNull()
    for (const silent of ['paused', 'disabled', 'stopped'] as const) expect(at(silent)).toBeNull()
  })
})

test('an endpoint that fails is probed with the delivery whose try is longest ago', () => {
  const open = [
    [1, 30],
    [2, 10],
    [3, 20],
  ].map(([sequence = 0, lastAt]) => [sequence, { sequence, lastAt } as OpenDelivery] as const)
  expect([oldestTried(new Map(open)), oldestTried(new Map())]).toEqual([2, undefined])
})
