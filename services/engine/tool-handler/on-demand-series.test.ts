import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Series } from '../../../contracts/domain/series.ts'
import { createBoard } from '../board.ts'
import { OnDemandSeries } from './on-demand-series.ts'

const seriesOf = (coin: string): Series => ({ exchange: 'SIM', coin, timeframe: '1h' })

let now: number
let ending: AbortController
let followed: Set<string>
let onDemand: OnDemandSeries

beforeEach(() => {
  now = 0
  ending = new AbortController()
  followed = new Set()
  onDemand = new OnDemandSeries({
    board: createBoard(),
    async follow({ coin }, signal) {
      followed.add(coin)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      followed.delete(coin)
    },
    isSettled: () => true,
    now: () => now,
    sleep: (_ms, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
    signal: ending.signal,
    onFailure: () => undefined,
    mostSeries: 6,
    mostPerAsker: 4,
  })
})
afterEach(async () => {
  ending.abort()
  await onDemand.ended()
})

const keep = (asker: string, coin: string): string => {
  now += 1
  try {
    onDemand.keep(seriesOf(coin), asker)
    return 'kept'
  } catch (error) {
    return (error as { details?: { per?: string } }).details?.per ?? 'full'
  }
}

test('one payer has so many series followed; what is followed already costs nothing', async () => {
  expect(['A', 'B', 'C', 'D', 'E'].map((coin) => keep('ada', coin))).toEqual([
    'kept',
    'kept',
    'kept',
    'kept',
    'payer',
  ])
  expect(keep('bob', 'A')).toBe('kept')
  expect(keep('ada', 'A')).toBe('kept')
  expect(onDemand.count()).toBe(4)
})

test('at the limit the least recently requested series is evicted', async () => {
  for (const coin of ['A', 'B', 'C', 'D']) keep('ada', coin)
  for (const coin of ['E', 'F']) keep('bob', coin)
  onDemand.touch(seriesOf('A'))
  expect(keep('eve', 'G')).toBe('kept')
  await expect.poll(() => [...followed].toSorted().join('')).toBe('ACDEFG')
  expect(keep('eve', 'H')).toBe('kept')
  await expect.poll(() => [...followed].toSorted().join('')).toBe('ADEFGH')
})

test('what is released has ended before somebody else follows it', async () => {
  for (const coin of ['A', 'B']) keep('ada', coin)
  await expect.poll(() => followed.size).toBe(2)
  await onDemand.release([seriesOf('A'), seriesOf('C')])
  expect([...followed]).toEqual(['B'])
  expect(keep('bob', 'A')).toBe('kept')
})

test('what nobody in particular asks for takes no place of others', () => {
  for (const coin of ['A', 'B', 'C', 'D']) keep('ada', coin)
  for (const coin of ['E', 'F']) keep('bob', coin)
  expect(keep('', 'G')).toBe('full')
})
