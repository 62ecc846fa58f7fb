import { describe, expect, test } from 'vitest'
import type { Exchange } from '../../../contracts/domain/series.ts'
import { DAY_MS, HOUR_MS, type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { NOW, only, paying, priced, START, scan } from './testing/scan-planted.ts'

const MIDNIGHT = NOW - HOUR_MS / 2
/** A spread that pays, between contracts of these names. */
const spread = (first = 'NEIRO', second = first) => [
  ...paying('BINANCE', 0.0001, { coin: first }),
  ...paying('BYBIT', 0.0021, { coin: second }),
]
const at = (
  exchange: Exchange,
  coin: string,
  price: number,
  { closedAt = MIDNIGHT, timeframe = '1h' }: { closedAt?: number; timeframe?: Timeframe } = {},
) => priced({ exchange, coin }, price, closedAt, timeframe)

describe('a pair is of one asset', () => {
  test.each([
    ['NEIRO', 0.08, 'NEIRO', 0.0803],
    ['NEIRO', 0.08, 'NEIRO', 0.0836],
    ['1000PEPE', 0.0082, 'PEPE', 0.0000081],
    ['KPEPE', 0.0082, '1000PEPE', 0.0081],
    ['1MBABYDOGE', 0.00152, '1000000BABYDOGE', 0.00153],
    ['SHIB1000', 0.0123, 'SHIB', 0.0000124],
    ['FTM', 0.51, 'S', 0.508],
  ])('where prices agree: %s at %d and %s at %d', (first, price, second, other) => {
    const bars = [at('BINANCE', first, price), at('BYBIT', second, other)]
    const answer = scan(spread(first, second), {}, NOW, bars)
    expect(only(answer)).toMatchObject({ long: { contract: first }, short: { contract: second } })
    expect(answer).toMatchObject({ pairs_compared: 1, pairs_unconfirmed: 0, note: null })
  })

  test.each([
    ['one name, two coins', 'NEIRO', 0.08, 'NEIRO', 0.0004, 'NEIRO on BINANCE 0.08 and BYBIT 0.0004'],
    ['the other way round', 'NEIRO', 0.0004, 'NEIRO', 0.08, 'NEIRO on BINANCE 0.0004 and BYBIT 0.08'],
    ['more than 5 % apart', 'LEO', 1, 'LEO', 1.06, 'LEO on BINANCE 1 and BYBIT 1.06'],
    ['a multiple that is none', '1000CAT', 0.9, 'CAT', 0.9, 'CAT on BINANCE 0.0009 and BYBIT 0.9'],
    ['a short name of another coin', 'EOS', 0.5, 'A', 0.02, 'A on BINANCE 0.5 and BYBIT 0.02'],
    ['a renamed coin in another ratio', 'MATIC', 0.5, 'POL', 50, 'POL on BINANCE 0.5 and BYBIT 50'],
  ])('or is left out, counted and named with both prices: %s', (_, first, price, second, other, named) => {
    const bars = [at('BINANCE', first, price), at('BYBIT', second, other)]
    expect(scan(spread(first, second), { min_net_bps: -10_000 }, NOW, bars)).toMatchObject({
      opportunities: [],
      pairs_compared: 0,
      pairs_unconfirmed: 1,
      note: `Not compared, because the prices of both contracts must be known and within 5 % of each other to be of one asset: ${named}.`,
    })
  })

  test.each([
    ['of neither is known', [], 'no price and BYBIT no price'],
    ['of one is known', [at('BYBIT', 'NEIRO', 0.08)], 'no price and BYBIT 0.08'],
    [
      'of one is of the day before',
      [at('BINANCE', 'NEIRO', 0.08, { closedAt: MIDNIGHT - DAY_MS }), at('BYBIT', 'NEIRO', 0.08)],
      'no price and BYBIT 0.08',
    ],
    [
      'of one is no number',
      [at('BINANCE', 'NEIRO', Number.NaN), at('BYBIT', 'NEIRO', 0.08)],
      'no price and BYBIT 0.08',
    ],
    ['of one is zero', [at('BINANCE', 'NEIRO', 0), at('BYBIT', 'NEIRO', 0.08)], 'no price and BYBIT 0.08'],
    [
      'is that of another contract of the coin',
      [at('BINANCE', '1000NEIRO', 0.08), at('BYBIT', 'NEIRO', 0.08)],
      'no price and BYBIT 0.08',
    ],
  ])('whose price %s is left out', (_, bars, named) => {
    expect(scan(spread(), {}, NOW, bars)).toMatchObject({
      pairs_compared: 0,
      pairs_unconfirmed: 1,
      note: expect.stringContaining(`NEIRO on BINANCE ${named}.`),
    })
  })

  test('only while they agree: the newest bar counts, of whichever timeframe and in any order', () => {
    const agreed = [at('BINANCE', 'NEIRO', 0.08), at('BYBIT', 'NEIRO', 0.08)]
    const later = at('BYBIT', 'NEIRO', 0.0004, { closedAt: MIDNIGHT + HOUR_MS / 4, timeframe: '15m' })
    expect(scan(spread(), {}, NOW, agreed).pairs_compared).toBe(1)
    for (const bars of [
      [...agreed, later],
      [later, ...agreed],
    ])
      expect(scan(spread(), {}, NOW, bars).pairs_unconfirmed).toBe(1)
  })

  test.each(['1m', '1h', '12h', '1d'] as const)('with bars of %s, while none is overdue', (timeframe) => {
    const length = Math.max(HOUR_MS, 2 * timeframeMs(timeframe))
    const closing = (closedAt: number) => [
      at('BINANCE', 'NEIRO', 0.08, { closedAt, timeframe }),
      at('BYBIT', 'NEIRO', 0.08, { closedAt, timeframe }),
    ]
    expect(scan(spread(), {}, NOW, closing(NOW - length)).pairs_compared).toBe(1)
    expect(scan(spread(), {}, NOW, closing(NOW - length - 1)).pairs_unconfirmed).toBe(1)
  })

  test('and the first pairs that are not are named, the others counted', () => {
    const coins = Array.from({ length: 8 }, (_, i) => `COIN${i}X`)
    const { note, pairs_unconfirmed } = scan(
      coins.flatMap((coin) => spread(coin)),
      {},
      NOW,
      [],
    )
    expect(pairs_unconfirmed).toBe(8)
    expect(note).toMatch(/COIN4X on BINANCE no price and BYBIT no price and 3 more\.$/)
  })
})

test('a name that is used again has the history of its new coin alone', () => {
  const former = paying('BYBIT', 0.05, { toMs: START + 3 * DAY_MS })
  const present = paying('BYBIT', 0.0021, { fromMs: START + 50 * DAY_MS })
  expect(only(scan([...paying('BINANCE', 0.0001), ...former, ...present]))).toMatchObject({
    history_days: 10,
    expected_annualised: expect.closeTo(0.73, 2),
  })
})
