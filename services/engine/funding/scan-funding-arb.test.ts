import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import type { ScanFundingArbResponse } from '../../../contracts/tools/tool-schemas.ts'
import { seededRandom } from '../../../testing/random-walk.ts'
import { DAYS, NOW, noisy, only, paying, plant, START, scan } from './testing/scan-planted.ts'

describe('a steady spread', () => {
  const settlements = [...paying('BINANCE', 0.0001), ...paying('HL', 0.0003, { intervalHours: 1 })]

  test('is found with its carry, its fees and its break-even', () => {
    const answer = scan(settlements, { holding_hours: 480 })
    expect(only(answer)).toEqual({
      rank: 1,
      coin: 'BTC',
      long: {
        exchange: 'BINANCE',
        contract: 'BTC',
        coins_per_unit: 1,
        side: 'long',
        rate: expect.closeTo(0.0001 / 3, 12),
        interval_hours: 8,
        annualised: 0.0365,
        settled_at: '2024-03-01T00:00:00.000Z',
        next_funding: '2024-03-01T08:00:00.000Z',
      },
      short: {
        exchange: 'HL',
        contract: 'BTC',
        coins_per_unit: 1,
        side: 'short',
        rate: expect.closeTo(0.0003 / 24, 12),
        interval_hours: 1,
        annualised: 0.1095,
        settled_at: '2024-03-01T00:00:00.000Z',
        next_funding: '2024-03-01T01:00:00.000Z',
      },
      annualised_gross: 0.073,
      expected_annualised: expect.closeTo(0.073, 5),
      net_expected_bps: 20,
      break_even_hours: 240,
      persistence: 0.5,
      history_days: 60,
    })
    expect(answer).toMatchObject({
      completed_at: '2024-03-01T00:30:00.000Z',
      holding_hours: 480,
      fees_bps: 20,
      pairs_compared: 1,
      pairs_too_short: 0,
      markets_stale: 0,
      venues: ['BINANCE', 'HL'],
      note: null,
    })
  })

  test.each([
    [0, 14, 0],
    [1, 10, 48],
    [3.5, 0, 168],
    [25, -86, 1_200],
  ])('nets, at %d bps a leg, %d bps and pays back in %d h', (fee, net, hours) => {
    const request = { taker_fee_bps: fee, min_net_bps: -1_000 }
    const found = only(scan(settlements, request))
    expect(found.net_expected_bps).toBeCloseTo(net, 2)
    expect(found.break_even_hours).toBe(hours)
  })

  test('never pays back fees of more than a year of it', () => {
    const thin = [...paying('BINANCE', 0.0001), ...paying('HL', 0.0002)]
    const breakEvenAt = (fee: number) =>
      only(scan(thin, { taker_fee_bps: fee, min_net_bps: -10_000 })).break_even_hours
    expect(breakEvenAt(91)).toBe(364 * 24)
    expect(breakEvenAt(92)).toBeNull()
  })

  test('is the same whatever the intervals of the legs, and when one changes midway', () => {
    const changing = [
      ...paying('HL', 0.0003, { intervalHours: 8, toMs: START + 30 * DAY_MS }),
      ...paying('HL', 0.0003, { intervalHours: 4, fromMs: START + 30 * DAY_MS, toMs: START + 45 * DAY_MS }),
      ...paying('HL', 0.0003, { intervalHours: 1, fromMs: START + 45 * DAY_MS }),
    ]
    const byHour = only(scan(settlements, { holding_hours: 480 }))
    const changed = only(scan([...paying('BINANCE', 0.0001), ...changing], { holding_hours: 480 }))
    expect(changed).toEqual(byHour)
    const eight = paying('HL', 0.0003, { intervalHours: 8 })
    expect(only(scan([...paying('BINANCE', 0.0001), ...eight], { holding_hours: 480 }))).toEqual({
      ...byHour,
      short: expect.objectContaining({ interval_hours: 8, annualised: 0.1095 }),
    })
  })

  test('is found across an outage of one exchange', () => {
    const cut = settlements.filter(
      ({ market, funding }) =>
        market.exchange !== 'HL' || funding.time <= START + 20 * DAY_MS || funding.time > START + 30 * DAY_MS,
    )
    const found = only(scan(cut, { holding_hours: 480 }))
    expect(found).toMatchObject({ net_expected_bps: 20, history_days: 50 })
  })

  test('is the same pair whichever exchange is the higher', () => {
    const mirrored = [...paying('BINANCE', 0.0003), ...paying('HL', 0.0001, { intervalHours: 1 })]
    const turned = only(scan(mirrored, { holding_hours: 480 }))
    const found = only(scan(settlements, { holding_hours: 480 }))
    expect([turned.long.exchange, turned.short.exchange]).toEqual(['HL', 'BINANCE'])
    expect(turned.net_expected_bps).toBe(found.net_expected_bps)
    expect(turned.break_even_hours).toBe(found.break_even_hours)
  })
})

describe('what does not last', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])('is not recommended: noise of seed %d', (seed) => {
    const settlements = [...noisy('BINANCE', seed), ...noisy('BYBIT', seed + 100)]
    const answer = scan(settlements)
    expect(answer.opportunities).toEqual([])
    expect(answer.note).toMatch(
      /^Of 1 pair, the best is BTC long \w+ and short \w+, expected to net -\d+\.?\d* bps in 168 h; that is below min_net_bps 0\.$/,
    )
    const shown = only(scan(settlements, { min_net_bps: -1_000 }))
    expect(shown.persistence).toBeLessThan(0.4)
  })

  test('does not decide the direction: the expected spread does, not the newest rates', () => {
    const settlements = [...paying('BINANCE', 0.0001), ...paying('HL', 0.0021, { intervalHours: 1 })]
    const last = settlements.at(-1) ?? expect.fail('no settlement')
    const turned = [...settlements, { ...last, funding: { ...last.funding, rate: -0.0001 } }]
    const found = only(scan(turned))
    expect(found.short).toMatchObject({ exchange: 'HL', rate: -0.0001 })
    expect(found.annualised_gross).toBeLessThan(0)
    expect(found.net_expected_bps).toBeGreaterThan(0)
  })

  test('turns the direction when the spread has turned for good', () => {
    const turnAt = START + 40 * DAY_MS
    const hourly = (timeMs: number) => (timeMs <= turnAt ? 0.002 : -0.002) / 24
    const settlements = [...plant('BINANCE'), ...plant('HL', { intervalHours: 1, hourly })]
    const shortAt = (day: number) => {
      const nowMs = START + day * DAY_MS + HOUR_MS / 2
      const known = settlements.filter(({ funding }) => funding.time <= nowMs)
      return only(scan(known, { min_net_bps: -10_000 }, nowMs)).short.exchange
    }
    expect([shortAt(39), shortAt(50), shortAt(59)]).toEqual(['HL', 'BINANCE', 'BINANCE'])
  })

  test('of a spike, only what is expected to be left of it counts', () => {
    const spikeFrom = START + (DAYS - 1) * DAY_MS
    const hourly = (timeMs: number) => (timeMs > spikeFrom ? 0.01 / 24 : 0)
    const settlements = [
      ...noisy('BINANCE', 5),
      ...noisy('HL', 6, { toMs: spikeFrom }),
      ...plant('HL', { fromMs: spikeFrom, hourly }),
    ]
    const found = only(scan(settlements, { min_net_bps: -1_000 }))
    expect(found.annualised_gross).toBeGreaterThan(3)
    expect(found.expected_annualised).toBeLessThan(found.annualised_gross / 4)
  })
})

describe('the answer', () => {
  const many = [
    ...['BTC', 'ETH', 'SOL'].flatMap((coin) => [
      ...paying('BINANCE', 0.0001, { coin }),
      ...paying('HL', 0.0006, { coin }),
      ...paying('OKX', 0.0001, { coin }),
    ]),
    ...paying('HL', 0.0009, { coin: 'DOGE' }),
    ...paying('BYBIT', 0.0001, { coin: 'DOGE' }),
  ]

  test('is ranked by what is expected, equal ones by name, and cut to the limit', () => {
    const rows = ({ opportunities }: ScanFundingArbResponse) =>
      opportunities.map(({ rank, coin, long, short }) => `${rank} ${coin} ${long.exchange} ${short.exchange}`)
    expect(rows(scan(many, { limit: 4 }))).toEqual([
      '1 DOGE BYBIT HL',
      '2 BTC BINANCE HL',
      '3 BTC OKX HL',
      '4 ETH BINANCE HL',
    ])
    const all = scan(many, { limit: 200, min_net_bps: -1_000 })
    expect(all.pairs_compared).toBe(10)
    // A spread of nothing is long of the later exchange code, by either order of settlements.
    expect(rows(all).slice(7)).toEqual(['8 BTC OKX BINANCE', '9 ETH OKX BINANCE', '10 SOL OKX BINANCE'])
  })

  test('is of the coins that were asked for, each once, and names those that are not known', () => {
    const answer = scan(many, { coins: ['eth', 'ETH', 'NOPE'] })
    expect(answer.opportunities.map(({ coin }) => coin)).toEqual(['ETH', 'ETH'])
    expect(answer.note).toBe('There is no funding history of NOPE; there is of BTC, DOGE, ETH, SOL.')
    const unknown = scan(many, { coins: ['A', 'B', 'C', 'D', 'E', 'F', 'G'] })
    expect(unknown.note).toMatch(/^There is no funding history of A, B, C, D, E and 2 more;/)
  })

  test('keeps to min_net_bps as it is shown', () => {
    const [best] = scan(many).opportunities
    const least = best?.net_expected_bps ?? expect.fail('nothing found')
    expect(scan(many, { min_net_bps: least }).opportunities).toHaveLength(1)
    expect(scan(many, { min_net_bps: least + 0.01 })).toMatchObject({
      opportunities: [],
      note: `Of 10 pairs, the best is DOGE long BYBIT and short HL, expected to net ${least} bps in 168 h; that is below min_net_bps ${least + 0.01}.`,
    })
  })

  test('names a next settlement that is ahead, however late the newest is', () => {
    const settlements = [...paying('BINANCE', 0.0001), ...paying('HL', 0.0006, { toMs: NOW - 12 * HOUR_MS })]
    const { short } = only(scan(settlements))
    expect(short.settled_at).toBe('2024-02-29T08:00:00.000Z')
    expect(short.next_funding).toBe('2024-03-01T08:00:00.000Z')
  })
})

test('nothing but the set of settlements counts, not their order or repetition', () => {
  const settlements = [
    ...noisy('BINANCE', 1),
    ...noisy('HL', 2, { intervalHours: 4 }),
    ...noisy('OKX', 3, { fromMs: START + 40 * DAY_MS }),
    ...noisy('HL', 4, { coin: 'ETH' }),
    ...noisy('BYBIT', 5, { coin: 'ETH' }),
  ]
  const expected = scan(settlements, { min_net_bps: -10_000 })
  expect(expected.opportunities).toHaveLength(4)
  fc.assert(
    fc.property(fc.integer(), fc.subarray(settlements, { maxLength: 50 }), (seed, again) => {
      const random = seededRandom(seed)
      const keyed = [...settlements, ...again].map((settlement) => ({ settlement, key: random() }))
      const shuffled = keyed.toSorted((a, b) => a.key - b.key).map(({ settlement }) => settlement)
      expect(scan(shuffled, { min_net_bps: -10_000 })).toEqual(expected)
    }),
    { numRuns: 25 },
  )
})
