import { describe, expect, test } from 'vitest'
import type { Exchange } from '../../contracts/domain/series.ts'
import { MINUTE_MS } from '../../contracts/domain/timeframes.ts'
import type { ProjectionHealth } from '../log/projector/projector.ts'
import { readModelComponents } from './readiness.ts'
import { type MonitoredCounts, marketComponent } from './roles/market-health.ts'
import { dispatcherComponent } from './roles/webhooks.ts'

const NOW = Date.UTC(2026, 0, 1)
const LATE_MS = 3 * MINUTE_MS

const marketAt = (
  ageMs: number | undefined,
  change: {
    readonly kind?: 'live' | 'recorded'
    readonly problem?: string
    readonly lateMs?: number
    readonly monitored?: MonitoredCounts[]
    readonly pending?: readonly Exchange[]
    readonly isAwaited?: boolean
  } = {},
) =>
  marketComponent(
    { kind: change.kind ?? 'live', progress: () => undefined, clock: () => NOW },
    {
      lastBarClose: ageMs === undefined ? undefined : NOW - ageMs,
      lateAfterMs: MINUTE_MS + (change.lateMs ?? LATE_MS),
      problem: change.problem,
      monitored: change.monitored ?? [],
      pending: change.pending ?? [],
      isAwaited: change.isAwaited ?? false,
    },
  )

describe('the market', () => {
  test('is well while its shortest bars come, and degraded past the time that tools refuse at', () => {
    expect(marketAt(MINUTE_MS + LATE_MS)).toMatchObject({ state: 'ok', more: { data_age_ms: 240_000 } })
    expect(marketAt(MINUTE_MS + LATE_MS + 1).state).toBe('degraded')
    expect(marketAt(undefined)).toMatchObject({ state: 'degraded', detail: 'live: warming up, no bar yet' })
  })

  test('that is warming up keeps callers out at first, unless something is in its way', () => {
    const isAwaited = true
    expect(marketAt(undefined, { isAwaited })).toMatchObject({ state: 'failed', isRequired: true })
    expect(marketAt(0, { isAwaited })).toMatchObject({ state: 'ok', isRequired: false })
    expect(marketAt(undefined, { isAwaited, problem: 'no room' }).isRequired).toBe(false)
    expect(marketAt(undefined, { isAwaited, kind: 'recorded' })).toMatchObject({
      state: 'ok',
      isRequired: false,
    })
  })

  test('may be as late as its speed says', () => {
    expect(marketAt(60 * MINUTE_MS, { lateMs: 600 * LATE_MS }).state).toBe('ok')
  })

  test('is degraded while a single series is stale or closed, and says of which venue', () => {
    const well = { exchange: 'HL', monitored: 3, fresh: 2, stale: 0, closed: 0, loading: 1 } as const
    const ill = { exchange: 'OKX', monitored: 9, fresh: 6, stale: 2, closed: 1, loading: 0 } as const
    expect(marketAt(0, { monitored: [well] }).state).toBe('ok')
    expect(marketAt(0, { monitored: [well, ill] })).toMatchObject({
      state: 'degraded',
      detail: 'live: newest bar closed 0 s ago in market time; OKX: 2 of 9 series stale, 1 closed',
    })
  })

  test('is degraded while a venue has not said what it has, and names it', () => {
    expect(marketAt(0, { pending: ['OKX'] })).toMatchObject({
      state: 'degraded',
      detail: expect.stringContaining('OKX: nothing followed'),
    })
  })

  test('that is replayed is never old, but says what recording waits for', () => {
    expect(marketAt(99 * LATE_MS, { kind: 'recorded' }).state).toBe('ok')
    expect(marketAt(0, { kind: 'recorded', problem: 'the disk is full' })).toMatchObject({
      state: 'degraded',
      detail: 'recorded: the disk is full',
    })
  })
})

describe('the dispatcher', () => {
  const shard = {
    shard: 0,
    subscriptions: 200,
    behind: 0,
    failing: 0,
    disabled: 0,
    pendingRetries: 0,
  }
  const well = {
    shards: [shard],
    position: '17',
    attemptsUnderWay: 0,
    problem: undefined,
    behindMs: 0,
    longBehind: 0,
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
    ['nobody has worked on a subscription for a minute', { unattended: 1, unattendedMs: MINUTE_MS }],
  ])('is degraded where %s', (_, change) => {
    expect(stateWith(change)).toBe('degraded')
  })
})

describe('a read model', () => {
  const whole: ProjectionHealth = {
    name: 'verdict_index',
    version: 1,
    position: '17',
    state: 'live',
    isWhole: true,
    hasBeenLive: true,
  }
  const stateOf = (change: Partial<ProjectionHealth>, hasCallers = true) =>
    readModelComponents([{ ...whole, ...change }], { hasCallers })[0]?.state

  test('that is ahead of its store was folded from another log, and fails the process', () => {
    const at = (head: string) => readModelComponents([whole], { hasCallers: false, head })[0]
    expect([at('17')?.state, at('18')?.state]).toEqual(['ok', 'ok'])
    expect(at('16')).toMatchObject({ state: 'failed', detail: expect.stringContaining('ends at 16') })
  })

  test('fails a process with callers before it has caught up once, where nobody is served without it', () => {
    const building = { name: 'accounts', state: 'building', hasBeenLive: false } as const
    expect(stateOf(building)).toBe('failed')
    expect(stateOf({ ...building, state: 'retrying' })).toBe('failed')
    expect(stateOf(building, false)).toBe('degraded')
    expect(stateOf({ ...building, name: 'track_record' })).toBe('degraded')
    expect(stateOf({})).toBe('ok')
    expect(stateOf({ state: 'retrying' })).toBe('degraded')
    expect(stateOf({ state: 'stopped' }, false)).toBe('failed')
  })

  test('that is built says how far it is', () => {
    const health = { ...whole, state: 'building' as const, isWhole: false, hasBeenLive: false }
    expect(readModelComponents([health], { hasCallers: true, head: '90' })).toMatchObject([
      { state: 'degraded', detail: 'building at position 17 of 90' },
    ])
  })
})
