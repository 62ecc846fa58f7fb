import { beforeEach, describe, expect, test } from 'vitest'
import { type Exchange, rankUniverse, type Universe } from '../../../contracts/domain/series.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { universeStream } from '../../../contracts/events/streams.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { createFakeClock, type FakeClock } from '../../../testing/time/fake-clock.fixture.ts'
import { collect } from '../../log/event-store.contract.ts'
import type { EventStore } from '../../log/event-store.ts'
import { failingAppends } from '../testing/recording.fixture.ts'
import { createUniverseManager, type UniverseManager } from './universe-manager.ts'

const START = Date.UTC(2025, 0, 1, 12, 30)

let store: EventStore
let time: FakeClock
let problems: string[]
let ids: number

beforeEach(() => {
  store = openMemoryStore({ now: () => START })
  time = createFakeClock(START)
  problems = []
  ids = 0
})

/** A ranking in which the coins are smaller and smaller. */
const rankingOf = (exchange: Exchange, coins: string, at = time.now()): Universe =>
  rankUniverse(
    exchange,
    at,
    coins.split('').map((coin, index) => ({
      coin,
      quoteVolume24h: 100 - index,
      change24h: null,
    })),
  )

function poolOf(rank: (exchange: Exchange) => Promise<Universe>, of: EventStore = store): UniverseManager {
  return createUniverseManager({
    rank,
    store: of,
    clock: time.now,
    sleep: time.sleep,
    newId: () => `0190a000-0000-7000-8000-${String(++ids).padStart(12, '0')}`,
    onProblem: (exchange, { code }) => problems.push(`${exchange} ${code}`),
  })
}

const recorded = async (exchange: Exchange = 'SIM'): Promise<string[]> =>
  (await collect(store.read(universeStream(exchange)))).map(({ data }) => {
    const { rankedAt, coins } = data as unknown as Universe
    return `${(rankedAt - START) / HOUR_MS} ${coins.map(({ coin }) => coin).join('')}`
  })

describe('rankings', () => {
  test('are recorded at the start and every hour of market time, and the newest is served', async () => {
    const ending = new AbortController()
    const orders = ['ABC', 'ABC', 'BAC']
    const manager = poolOf(async (exchange) => rankingOf(exchange, orders.shift() ?? 'CAB'))
    expect(manager.newest('SIM')).toBeUndefined()
    const running = manager.run(['SIM', 'OKX'], ending.signal)
    await time.advance(0)
    orders.splice(0, 9, 'ABC', 'ABC', 'BAC', 'BAC')
    expect(await recorded()).toEqual(['0 ABC'])
    await time.advance(HOUR_MS)
    expect(await recorded()).toEqual(['0 ABC', '0.5 ABC'])
    expect(await recorded('OKX')).toHaveLength(2)
    await time.advance(HOUR_MS)
    expect(await recorded()).toEqual(['0 ABC', '0.5 ABC', '1.5 BAC'])
    expect(manager.newest('SIM')?.coins[0]?.coin).toBe('B')
    expect(await manager.of('SIM')).toEqual(manager.newest('SIM'))
    ending.abort()
    await running
    expect(time.waiting()).toBe(0)
  })

  test('of one hour are recorded once, over a restart too, unless the coins have changed', async () => {
    await poolOf(async () => rankingOf('SIM', 'ABC')).of('SIM')
    await time.advance(60_000)
    const again = poolOf(async () => rankingOf('SIM', 'BCA'))
    expect((await again.of('SIM')).coins.map(({ coin }) => coin).join('')).toBe('ABC')
    expect(await recorded()).toEqual(['0 ABC'])
    const wider = poolOf(async () => rankingOf('SIM', 'DABC'))
    const ending = new AbortController()
    const running = wider.run(['SIM'], ending.signal)
    await time.advance(0)
    expect(wider.newest('SIM')?.coins).toHaveLength(4)
    expect(await recorded()).toHaveLength(2)
    ending.abort()
    await running
  })

  test('of two engines at once are recorded once, and both serve the same', async () => {
    const managers = [
      poolOf(async () => rankingOf('SIM', 'ABC')),
      poolOf(async () => rankingOf('SIM', 'CBA')),
    ]
    const [one, other] = await Promise.all(managers.map((manager) => manager.of('SIM')))
    expect(one).toEqual(other)
    expect(await recorded()).toHaveLength(1)
    await time.advance(HOUR_MS)
    const ending = new AbortController()
    const running = Promise.all(managers.map((manager) => manager.run(['SIM'], ending.signal)))
    await time.advance(5_000)
    expect(await recorded()).toHaveLength(2)
    expect(managers[0]?.newest('SIM')).toEqual(managers[1]?.newest('SIM'))
    ending.abort()
    await running
  })

  test('are renewed when they are asked for, where nothing else renews them', async () => {
    const orders = ['AB', 'BA']
    const manager = poolOf(async () => rankingOf('SIM', orders.shift() ?? 'C'))
    const order = async () => (await manager.of('SIM')).coins.map(({ coin }) => coin).join('')
    expect(await order()).toBe('AB')
    await time.advance(2 * HOUR_MS)
    expect(await order()).toBe('AB')
    await time.advance(1)
    expect(await order()).toBe('BA')
    expect(await recorded()).toEqual(['0 AB', `${2 + 1 / HOUR_MS} BA`])
  })

  test('that are asked for by many at once are made once', async () => {
    let made = 0
    const manager = poolOf(async () => {
      made++
      return rankingOf('SIM', 'AB')
    })
    await Promise.all([manager.of('SIM'), manager.of('SIM'), manager.of('SIM')])
    expect(made).toBe(1)
  })
})

describe('a venue that fails', () => {
  test('keeps the last recorded ranking and says so, once, until it works again', async () => {
    await poolOf(async () => rankingOf('HL', 'AB')).of('HL')
    await time.advance(3 * HOUR_MS)
    let isUp = false
    const manager = poolOf(async () => {
      if (!isUp) throw new Error('socket hang up')
      return rankingOf('HL', 'BA')
    })
    const ending = new AbortController()
    const running = manager.run(['HL'], ending.signal)
    await time.advance(120_000)
    expect((await manager.of('HL')).coins[0]?.coin).toBe('A')
    expect(manager.problem('HL')).toBe('the coins of HL could not be ranked: socket hang up')
    expect(problems).toEqual(['HL venue_unavailable'])
    isUp = true
    await time.advance(30_000)
    expect((await manager.of('HL')).coins[0]?.coin).toBe('B')
    expect(manager.problem('HL')).toBeUndefined()
    ending.abort()
    await running
  })

  test('without one is refused, and asked again by the next', async () => {
    const answers = [
      () => Promise.reject(new ServiceError('unknown_exchange')),
      async () => rankingOf('XT', 'A'),
    ]
    const manager = poolOf((exchange) => (answers.shift() ?? (async () => rankingOf(exchange, 'B')))())
    await expect(manager.of('XT')).rejects.toMatchObject({ code: 'unknown_exchange' })
    expect((await manager.of('XT')).coins[0]?.coin).toBe('A')
  })
})

test.each([
  ['for a moment', 2, []],
  ['for longer than it is pursued', 40, ['SIM outcome_unknown']],
])('an append whose outcome is not known %s is not doubled by the next', async (_, count, told) => {
  const failing = failingAppends(
    store,
    Array.from({ length: count }, (__, n) => (n === 0 ? { after: 'append_unknown' } : 'append_unknown')),
  )
  const manager = poolOf(async () => rankingOf('SIM', 'ABC'), failing)
  const ending = new AbortController()
  const running = manager.run(['SIM'], ending.signal)
  await time.advance(70_000)
  expect(await recorded()).toEqual(['0 ABC'])
  expect(manager.problem('SIM')).toBeUndefined()
  expect(problems).toEqual(told)
  ending.abort()
  await running
})
