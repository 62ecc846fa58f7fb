import { expect, test } from 'vitest'
import type { ServiceEvent } from '../../contracts/events/event-catalogue.ts'
import type { LeaseHolder } from '../../contracts/events/lease-events.ts'
import { shardOf } from '../../services/webhooks/dispatch/dispatcher.ts'
import { failoverTable, recovered } from './failover-times.ts'

const AT = 100_000
const part = (holder: string, ...shards: number[]): LeaseHolder => ({
  holder,
  renewedBy: 1,
  ttlMs: 6_000,
  shards: shards.map((shard) => ({ shard, token: 1 })),
})
const at = (ms: number): string => new Date(AT + ms).toISOString()
const leases = (ms: number, group: string, holder: string, table: readonly LeaseHolder[]) => ({
  type: 'LeaseTaken',
  at: at(ms),
  data: { group, holder, table },
})
const verdict = (ms: number, verdictId: string) => ({
  type: 'VerdictRecorded',
  at: at(ms),
  position: String(AT + ms),
  data: { verdictId, call: 'BUY', regime: 'RANGING', previous: null, timeframe: '1m' },
})
const logOf = (...events: object[]): ServiceEvent[] => events as ServiceEvent[]
const nothing = { deliveries: [], subscriptions: [] }

test('work is taken when all of it is, and done with the first event behind', () => {
  const log = logOf(
    leases(-500, 'engine', 'a', [part('a', 0, 1), part('b')]),
    verdict(-100, 'before'),
    leases(5_000, 'engine', 'b', [part('b', 0)]),
    verdict(5_500, 'of the first shard'),
    leases(7_000, 'engine', 'b', [part('b', 0, 1)]),
    verdict(7_400, 'behind'),
  )
  const strike = { group: 'engine', how: 'killed', at: AT } as const
  expect(recovered(log, strike, nothing)).toEqual({ takenMs: 7_000, worksMs: 7_400, caughtUpMs: undefined })
  expect(recovered(log.slice(0, 4), strike, nothing)).toBeUndefined()
})

test('one that held nothing, or said itself that it is there, was not missed', () => {
  const log = logOf(
    leases(-500, 'settler', 'a', [part('a', 0), part('b')]),
    leases(2_000, 'settler', 'a', [part('a', 0), part('b')]),
    leases(4_000, 'settler', 'a', [part('a', 0)]),
  )
  expect(recovered(log, { group: 'settler', how: 'stands still', at: AT }, nothing)).toBeUndefined()
})

test('of deliveries those count that came due while nobody had their shard', () => {
  const shards = 2
  const ids = ['s1', 's2', 's3', 's4', 's5', 's6']
  const [lost, kept] = [0, 1].map((shard) => ids.find((id) => shardOf(id, shards) === shard) ?? '')
  const log = logOf(
    leases(-500, 'dispatcher', 'a', [part('a', 0), part('b', 1)]),
    verdict(1_000, 'v1'),
    verdict(6_000, 'v2'),
    leases(7_000, 'dispatcher', 'b', [part('b', 0, 1)]),
    verdict(9_000, 'v3'),
  )
  const filter = { events: ['trade_call'] }
  const subscriptions = [lost, kept].map((accountId = '') => ({
    id: `of ${accountId}`,
    accountId,
    path: `/${accountId}`,
    start: 'start',
    filter,
  }))
  const came = (accountId: string | undefined, sequence: number, ms: number) =>
    ({ path: `/${accountId}`, sequence, at: AT + ms }) as never
  const deliveries = [came(kept, 1, 1_010), came(lost, 1, 7_300), came(lost, 2, 8_100), came(lost, 3, 9_100)]
  const strike = { group: 'dispatcher', how: 'killed', at: AT } as const
  expect(recovered(log, strike, { subscriptions, deliveries })).toEqual({
    takenMs: 7_000,
    worksMs: 7_300,
    caughtUpMs: 8_100,
  })
})

test('the table says median, worst, and of how many', () => {
  const strike = { group: 'engine', how: 'killed', at: AT } as const
  const measured = [
    { takenMs: 7_000, worksMs: 7_400 },
    { takenMs: 5_000 },
    {},
    { takenMs: 8_000, worksMs: 9_000 },
  ]
  expect(failoverTable(measured.map((one) => ({ ...strike, ...one }))).at(-1)).toBe(
    '| engine killed | 7.0, 8.0 (3) | 9.0, 9.0 (2) | – |',
  )
})
