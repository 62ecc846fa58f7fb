import { expect, test } from 'vitest'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import { plantFunding } from '../../../services/engine/funding/testing/planted-funding.ts'
import { walkFunding } from './walk-funding.ts'

const START = Date.UTC(2024, 0, 1)
const DAYS = 40

const plant = (exchange: 'BINANCE' | 'HL', hourly: (timeMs: number) => number, lastDay = DAYS) =>
  plantFunding({ exchange, fromMs: START, toMs: START + lastDay * DAY_MS, intervalHours: 8, hourly })

const walk = (settlements: ReturnType<typeof plant>, change = {}) => [
  ...walkFunding({
    settlements: settlements.toSorted((a, b) => a.funding.time - b.funding.time),
    keepDays: 90,
    holdingHours: 168,
    ...change,
  }),
]

test('every day with a week behind it and the holding time ahead is scanned, and looked up', () => {
  const days = walk([...plant('BINANCE', () => 0), ...plant('HL', () => 0.0003 / 24)])
  expect(days).toHaveLength(DAYS - 7 - 7 + 1)
  expect(days[0]?.atMs).toBe(START + 7 * DAY_MS)
  for (const day of days) {
    expect(day.short.exchange).toBe('HL')
    for (const carry of [day.expected, day.realised, day.atNewestRates]) expect(carry).toBeCloseTo(0.0021, 8)
  }
})

test('a scan knows nothing of what is settled after it', () => {
  const turnAt = START + 20 * DAY_MS
  const later = (timeMs: number) => (timeMs <= turnAt ? 0.0003 : -0.0005) / 24
  const steady = walk([...plant('BINANCE', () => 0), ...plant('HL', () => 0.0003 / 24)])
  const turning = walk([...plant('BINANCE', () => 0), ...plant('HL', later)])
  const until = (days: typeof steady) =>
    days.filter(({ atMs }) => atMs <= turnAt).map(({ atMs, expected }) => [atMs, expected])
  expect(until(turning)).toEqual(until(steady))
  expect(turning.find(({ atMs }) => atMs === turnAt)?.realised).toBeCloseTo(-0.0035, 9)
})

test('a holding time that is not covered is passed over', () => {
  const outage = [START + 20 * DAY_MS, START + 22 * DAY_MS] as const
  const cut = plant('HL', () => 0.0003 / 24).filter(
    ({ funding }) => funding.time <= outage[0] || funding.time > outage[1],
  )
  const scanned = walk([...plant('BINANCE', () => 0), ...cut]).map(({ atMs }) => (atMs - START) / DAY_MS)
  expect(scanned).toContain(13)
  expect(scanned).not.toContain(15)
  expect(scanned).toContain(23)
})

test('a period limits the days that are scanned, not what they know', () => {
  const settlements = [...plant('BINANCE', () => 0), ...plant('HL', () => 0.0003 / 24)]
  const [fromMs, toMs] = [START + 10 * DAY_MS, START + 12 * DAY_MS]
  const days = walk(settlements, { fromMs, toMs })
  expect(days).toEqual(walk(settlements).filter(({ atMs }) => atMs >= fromMs && atMs < toMs))
  expect(days).toHaveLength(2)
})
