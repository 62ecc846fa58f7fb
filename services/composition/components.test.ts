import { describe, expect, test } from 'vitest'
import { MINUTE_MS } from '../../contracts/timeframes.ts'
import { dispatcherComponent, leasesComponent, marketComponent } from './components.ts'

const NOW = Date.UTC(2026, 0, 1)
const LATE_MS = 3 * MINUTE_MS

const marketAt = (
  ageMs: number | undefined,
  change: { readonly kind?: 'live' | 'recorded'; readonly trouble?: string; readonly lateMs?: number } = {},
) =>
  marketComponent(
    { kind: change.kind ?? 'live', clock: () => NOW },
    {
      lastBarClose: () => (ageMs === undefined ? undefined : NOW - ageMs),
      shortestBarMs: () => MINUTE_MS,
      trouble: () => change.trouble,
    },
    change.lateMs ?? LATE_MS,
  )

describe('the market', () => {
  test('is well while its shortest bars come, and degraded past the time that tools refuse at', () => {
    expect(marketAt(MINUTE_MS + LATE_MS)).toMatchObject({ state: 'ok', more: { data_age_ms: 240_000 } })
    expect(marketAt(MINUTE_MS + LATE_MS + 1).state).toBe('degraded')
    expect(marketAt(undefined)).toMatchObject({ state: 'degraded', detail: 'live: warming up, no bar yet' })
  })

  test('may be as late as its speed says', () => {
    expect(marketAt(60 * MINUTE_MS, { lateMs: 600 * LATE_MS }).state).toBe('ok')
  })

  test('that is replayed is never old, but says what recording waits for', () => {
    expect(marketAt(99 * LATE_MS, { kind: 'recorded' }).state).toBe('ok')
    expect(marketAt(0, { kind: 'recorded', trouble: 'the disk is full' })).toMatchObject({
      state: 'degraded',
      detail: 'recorded: the disk is full',
    })
  })
})

test('a shard that is held and not worked on makes a process unready; one that is not held does not', () => {
  const group = (idle: number[]) => [{ group: 'dispatcher', leases: { idle: () => idle } }]
  expect(leasesComponent(group([]))).toMatchObject({ isRequired: true, state: 'ok' })
  expect(leasesComponent(group([3, 7]))).toMatchObject({
    isRequired: true,
    state: 'failed',
    detail: expect.stringContaining('dispatcher 3, dispatcher 7'),
  })
})

describe('the dispatcher', () => {
  const shard = {
    shard: 0,
    subscriptions: 200,
    behind: 0,
    degraded: 0,
    disabled: 0,
    openRetries: 0,
    queued: 0,
  }
  const well = {
    shards: [shard],
    position: '17',
    attemptsUnderWay: 0,
    trouble: undefined,
    behindMs: 0,
    longBehind: 0,
    strays: 0,
    unattended: 0,
    unattendedMs: 0,
  }
  const stateWith = (change: Partial<typeof well>) => dispatcherComponent({ ...well, ...change }, []).state

  test('is well where a few endpoints are behind, and a burst is being sent off', () => {
    expect(stateWith({})).toBe('ok')
    expect(stateWith({ behindMs: MINUTE_MS, longBehind: 20 })).toBe('ok')
  })

  test.each([
    ['the log has been further on for a minute', { behindMs: MINUTE_MS + 1 }],
    ['more than a tenth of the endpoints have been behind for long', { longBehind: 21 }],
    ['an active endpoint is attached to nothing', { strays: 1 }],
    ['nobody has worked on a subscription for a minute', { unattended: 1, unattendedMs: MINUTE_MS }],
  ])('is degraded where %s', (_, change) => {
    expect(stateWith(change)).toBe('degraded')
  })
})
