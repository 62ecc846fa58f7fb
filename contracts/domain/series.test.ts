import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../limits.ts'
import {
  coinSchema,
  EXCHANGES,
  marketName,
  parseSeriesName,
  type Series,
  seriesName,
  seriesSchema,
} from './series.ts'
import { TIMEFRAMES } from './timeframes.ts'

const aCoin = fc.stringMatching(new RegExp(`^[A-Z0-9]{1,${LIMITS.coinCharacters}}$`))
const aSeries: fc.Arbitrary<Series> = fc.record({
  exchange: fc.constantFrom(...EXCHANGES),
  coin: fc.oneof(aCoin, fc.constantFrom('1H', '1D', 'SIM', '0', '1000PEPE')),
  timeframe: fc.constantFrom(...TIMEFRAMES),
})

describe('a series name', () => {
  test('is read back as the series', () => {
    fc.assert(
      fc.property(aSeries, (series) => {
        expect(parseSeriesName(seriesName(series))).toEqual(series)
        expect(seriesSchema.parse(series)).toEqual(series)
        expect(seriesName(series)).toBe(`${marketName(series)}.${series.timeframe}`)
      }),
    )
  })

  test('is the only text that is read as its series, so two names are two series', () => {
    const near = fc
      .tuple(aSeries, fc.nat(40), fc.constantFrom('', '.', ' ', '\n', '\0', 'a', 'A', '1', '-', 'Ａ', '/'))
      .map(([series, at, text]) => {
        const name = seriesName(series)
        const cut = at % (name.length + 1)
        return name.slice(0, cut) + text + name.slice(cut + (at % 2))
      })
    fc.assert(
      fc.property(fc.oneof(near, fc.string({ unit: 'binary' })), (text) => {
        const series = parseSeriesName(text)
        if (series !== undefined) expect(seriesName(series)).toBe(text)
      }),
      { numRuns: 500 },
    )
  })

  test.each([
    '',
    '.',
    '..',
    'SIM',
    'SIM.BTC',
    'SIM..1h',
    '.BTC.1h',
    'SIM.BTC.',
    'SIM.BTC.1h.1h',
    'SIM.BTC.1h\n',
    ' SIM.BTC.1h',
    'sim.BTC.1h',
    'SIM.btc.1h',
    'SIM.BTC.1H',
    'SIM.BTC.1M',
    'SIM.BTC.6h',
    'SIMXBTCX1h',
    'SIM.BT\0C.1h',
    'SIM.ВТС.1h',
    'SIM.BTC-USD.1h',
    'SIM.../../etc.1h',
    'SIM.__proto__.1h',
    'constructor.BTC.1h',
    'NYSE.BTC.1h',
    `SIM.${'B'.repeat(LIMITS.coinCharacters + 1)}.1h`,
  ])('%j is none', (name) => {
    expect(parseSeriesName(name)).toBeUndefined()
  })
})

test('the coin schema and the name agree on what a coin is', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        aCoin,
        fc.string({ unit: 'binary' }),
        aCoin.map((c) => c.toLowerCase()),
      ),
      (coin) => {
        const series = parseSeriesName(`SIM.${coin}.1h`)
        expect(series !== undefined).toBe(coinSchema.safeParse(coin).success)
      },
    ),
    { numRuns: 500 },
  )
})
