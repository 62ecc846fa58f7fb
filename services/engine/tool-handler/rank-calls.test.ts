import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rankUniverse, type UniverseEntry } from '../../../contracts/domain/series.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import { CALLS, type Forecast } from '../../../contracts/domain/verdict.ts'
import { RANKINGS } from '../../../contracts/tools/tool-schemas.ts'
import { rankCalls, scannedCoins } from './rank-calls.ts'

const rows = fc.uniqueArray(
  fc.record({
    coin: fc.stringMatching(/^[A-Z]{1,4}$/),
    quoteVolume24h: fc.integer({ min: 0, max: 3 }),
    change24h: fc.option(fc.constantFrom(-0.2, -0.1, 0, 0.1)),
    call: fc.constantFrom(...CALLS),
    confidence: fc.integer({ min: 50, max: 52 }),
    strength: fc.integer({ min: 0, max: 2 }),
    reach: fc.option(fc.constantFrom(0.01, 0.02)),
  }),
  { selector: ({ coin }) => coin, maxLength: 12 },
)

const request = fc.record({
  rank_by: fc.constantFrom(...RANKINGS).filter((one) => one !== 'expected_return'),
  min_confidence: fc.integer({ min: 49, max: 53 }),
  include_holds: fc.boolean(),
  limit: fc.integer({ min: 1, max: 12 }),
})

const reaching = (p90: number): Forecast => ({
  model: 'range-1',
  volatility: p90,
  p10: -p90,
  p25: -p90 / 2,
  p50: 0,
  p75: p90 / 2,
  p90,
})

describe('rankCalls', () => {
  test('gives what passes, largest first, then by volume, then by name, whatever the order was', () => {
    fc.assert(
      fc.property(rows, request, fc.infiniteStream(fc.nat()), (given, wanted, shuffle) => {
        const found = given.map(({ coin, quoteVolume24h, change24h, reach, ...said }) => ({
          entry: { coin, quoteVolume24h, change24h },
          verdict: aVerdict({ coin, ...said, forecast: reach && reaching(reach) }),
        }))
        const ranked = rankCalls(found, wanted, wanted.rank_by, 'https://x.example')
        const order = new Map(found.map((row) => [row, shuffle.next().value]))
        const shuffled = found.toSorted((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0))
        expect(rankCalls(shuffled, wanted, wanted.rank_by, 'https://x.example')).toEqual(ranked)

        const passing = given.filter(
          ({ call, confidence }) =>
            confidence >= wanted.min_confidence && (wanted.include_holds || call !== 'HOLD'),
        )
        expect(ranked).toHaveLength(Math.min(passing.length, wanted.limit))
        expect(ranked.map(({ rank }) => rank)).toEqual(ranked.map((_, index) => index + 1))
        const keyOf = (row: (typeof ranked)[number]): [number, number, string] => {
          const change = row.change_24h === null ? -1 : Math.abs(row.change_24h)
          const { strength, confidence, quote_volume_24h: volume } = row
          const expected_range = row.expected_range === null ? -1 : row.expected_range.p90
          const sizes = { strength, confidence, volume, change, expected_range }
          return [-sizes[wanted.rank_by], -volume, row.coin]
        }
        for (const [index, row] of ranked.entries()) {
          const next = ranked[index + 1]
          if (next === undefined) continue
          const [a, b] = [keyOf(row), keyOf(next)]
          const differing = a.findIndex((part, place) => part !== b[place])
          expect((a[differing] as number) < (b[differing] as number)).toBe(true)
        }
      }),
    )
  })
})

describe('scannedCoins', () => {
  const entry = (coin: string, quoteVolume24h: number): UniverseEntry => ({
    coin,
    quoteVolume24h,
    change24h: null,
  })
  const universe = rankUniverse('HL', 0, [entry('A', 1), entry('B', 3), entry('C', 2), entry('D', 4)])
  const names = (count: number, floor = 0) =>
    scannedCoins(universe, { top_n: count, min_liquidity_usd: floor }).map(({ coin }) => coin)

  test('by volume', () => expect(names(3)).toEqual(['D', 'B', 'C']))
  test('none that trade less than the floor', () => expect(names(9, 3)).toEqual(['D', 'B']))
})
