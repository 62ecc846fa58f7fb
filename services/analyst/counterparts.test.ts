import { describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { outcomeStream } from '../../contracts/events/streams.ts'
import { comparePositions, type Position } from '../../contracts/infra/position.ts'
import { outcomeLabelled } from '../../projections/given-events.fixture.ts'
import { appendNext } from '../../testing/append-next.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../log/event-store.ts'
import { createCounterparts } from './series-events.ts'

const SERIES = { exchange: 'BINANCE', coin: 'BTC', timeframe: '1h' } as const
const START = Date.UTC(2026, 0, 1)
const closeOf = (hour: number): number => START + hour * HOUR_MS
const { signal } = new AbortController()
let made = 0

/** An outcome an hour, but for some hours; each third one was decided by no bar. */
async function aLog(hours: readonly number[], appendedAt = (hour: number): number => closeOf(hour + 8)) {
  let now = 0
  const store = openMemoryStore({ now: () => now })
  const label = async (hour: number): Promise<void> => {
    now = appendedAt(hour)
    const { event } = outcomeLabelled({ ...SERIES, barClose: closeOf(hour) })
    const id = `00000000-0000-8000-8000-${String(++made).padStart(12, '0')}`
    const data = { ...event.data, ...SERIES, decidedAt: decidedOf(hour) }
    await appendNext(store, outcomeStream(SERIES), [{ ...event, id, data }])
  }
  for (const hour of hours) await label(hour)
  return { store, label }
}
const decidedOf = (hour: number): number | null => (hour % 3 === 0 ? null : closeOf(hour + 2))
const HOURS = Array.from({ length: 300 }, (_, hour) => hour).filter((hour) => hour % 50 !== 7)
const at = (hour: number) => ({ ...SERIES, barClose: closeOf(hour) })

const outcomesOf = (store: EventStore, isPast?: (event: { at: string; position: Position }) => boolean) => {
  const outcomes = createCounterparts(store, 'OutcomeLabelled', { signal, ...(isPast && { isPast }) })
  return async (hour: number): Promise<number | null | undefined> =>
    (await outcomes.of(at(hour)))?.data.decidedAt
}

describe('the outcome of a bar', () => {
  test.each([
    ['oldest first', HOURS],
    ['newest first', HOURS.toReversed()],
    ['some of them, to and fro', [290, 3, 4, 150, 149, 151, 0, 299, 299, 5]],
    ['of bars without an outcome', [7, 57, 107, 58, 300, 301, 2]],
  ])('is what the log has, asked %s', async (_order, hours) => {
    const { store } = await aLog(HOURS)
    const head = await store.head()
    const decided = outcomesOf(store, ({ position }) => comparePositions(position, head) > 0)
    for (const hour of hours)
      expect(await decided(hour)).toBe(HOURS.includes(hour) ? decidedOf(hour) : undefined)
  })

  test('is what the log had as it was', async () => {
    const { store } = await aLog(HOURS)
    const end = new Date(closeOf(108)).toISOString()
    const decided = outcomesOf(store, (event) => event.at > end)
    const found = []
    for (const hour of [98, 100, 101, 100, 202]) found.push(await decided(hour))
    expect(found).toEqual([decidedOf(98), decidedOf(100), undefined, decidedOf(100), undefined])
  })

  test('is in a log that goes on as soon as it was labelled', async () => {
    const { store, label } = await aLog([])
    const decided = outcomesOf(store)
    expect(await decided(1)).toBeUndefined()
    for (const hour of [1, 2, 4]) await label(hour)
    expect([await decided(2), await decided(5), await decided(1)]).toEqual([
      closeOf(4),
      undefined,
      closeOf(3),
    ])
    await label(5)
    expect(await decided(5)).toBe(closeOf(7))
  })
})

test('a series is read in pages, not outcome by outcome', async () => {
  const { store } = await aLog(HOURS)
  let reads = 0
  const counting = {
    ...store,
    read: (...args: Parameters<typeof store.read>) => (reads++, store.read(...args)),
  }
  const decided = outcomesOf(counting)
  for (const hour of HOURS) await decided(hour)
  expect(reads).toBeLessThan(20)
})
