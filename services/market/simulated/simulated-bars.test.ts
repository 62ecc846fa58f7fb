import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { candleFault, fundingRateSchema } from '../../../contracts/domain/candle.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { createPricePath } from './price-path.ts'
import { createSimulatedBars } from './simulated-bars.ts'
import { DEFAULT_SIMULATED_COINS, simulatedCoin } from './simulated-coins.ts'

const hourOf = (year: number): number => Date.UTC(year, 0, 1) / HOUR_MS
const anyHour = fc.integer({ min: 24, max: hourOf(2060) })
const anyCoin = fc.constantFrom(...DEFAULT_SIMULATED_COINS, 'PEPE', 'A')

const candleOf = (rows: Float64Array, at = 0) => {
  const [openTime = 0, open = 0, high = 0, low = 0, close = 0, volume = 0] = rows.subarray(at, at + 6)
  return { openTime, open, high, low, close, volume }
}

const closesOf = (coin: string, fromHour: number, hours: number, seed = 'seed'): number[] => {
  const bars = createSimulatedBars(seed, coin)
  return Array.from({ length: hours }, (_, index) => candleOf(bars.hour(fromHour + index)).close)
}

const returnsOf = (closes: readonly number[]): number[] =>
  closes.slice(1).map((close, index) => Math.log(close / (closes[index] ?? close)))

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length
const deviation = (values: readonly number[]): number => Math.sqrt(mean(values.map((value) => value ** 2)))

describe('createSimulatedBars', () => {
  it('gives the same bars whatever was asked before', () => {
    fc.assert(
      fc.property(anyCoin, fc.array(anyHour, { minLength: 1, maxLength: 8 }), (coin, hours) => {
        const used = createSimulatedBars('seed', coin)
        for (const hour of hours) {
          const fresh = createSimulatedBars('seed', coin)
          expect(used.hour(hour)).toEqual(fresh.hour(hour))
          expect(used.minutes(hour)).toEqual(fresh.minutes(hour))
          expect(used.funding(hour)).toEqual(fresh.funding(hour))
        }
      }),
      { numRuns: 60 },
    )
  })

  it('is another market with another seed, and each coin is a market of its own', () => {
    expect(closesOf('BTC', 480_000, 5, 'a')).not.toEqual(closesOf('BTC', 480_000, 5, 'b'))
    const [btc, eth] = [closesOf('BTC', 480_000, 2_000), closesOf('ETH', 480_000, 2_000)].map(returnsOf)
    const products = (btc ?? []).map((value, index) => value * (eth?.[index] ?? 0))
    expect(Math.abs(mean(products) / (deviation(btc ?? []) * deviation(eth ?? [])))).toBeLessThan(0.1)
  })

  it('stays the same market from release to release', () => {
    expect(candleOf(createSimulatedBars('seed', 'BTC').hour(480_000))).toMatchInlineSnapshot(`
      {
        "close": 44069.7,
        "high": 44303.2,
        "low": 43940.9,
        "open": 44173,
        "openTime": 1728000000000,
        "volume": 1232.9375,
      }
    `)
  })

  it('makes an hour of exactly its sixty minutes, each a sound bar that begins where the last ended', () => {
    fc.assert(
      fc.property(anyCoin, anyHour, (coin, hour) => {
        const bars = createSimulatedBars('seed', coin)
        const rows = bars.minutes(hour)
        const minutes = Array.from({ length: 60 }, (_, index) => candleOf(rows, index * 6))
        expect(minutes.map(candleFault).filter((fault) => fault !== undefined)).toEqual([])
        expect(minutes.every(({ open }, index) => index === 0 || open === minutes[index - 1]?.close)).toBe(
          true,
        )
        expect(candleOf(bars.hour(hour))).toEqual({
          openTime: hour * HOUR_MS,
          open: minutes[0]?.open,
          high: Math.max(...minutes.map(({ high }) => high)),
          low: Math.min(...minutes.map(({ low }) => low)),
          close: minutes[59]?.close,
          volume: minutes.reduce((sum, { volume }) => sum + volume, 0),
        })
        expect(candleOf(bars.hour(hour + 1)).open).toBe(minutes[59]?.close)
      }),
      { numRuns: 100 },
    )
  })

  it.each(DEFAULT_SIMULATED_COINS)('prices %s in ticks', (coin) => {
    const { decimals } = simulatedCoin(coin)
    const { high, low, close } = candleOf(createSimulatedBars('seed', coin).hour(480_123))
    for (const price of [high, low, close])
      expect(String(price)).toBe(String(Number(price.toFixed(decimals))))
  })

  it('keeps prices plausible over thirty years', () => {
    const outside: unknown[] = []
    for (const coin of [...DEFAULT_SIMULATED_COINS, 'PEPE']) {
      const bars = createSimulatedBars('seed', coin)
      const { price } = simulatedCoin(coin)
      // One hour a day is near enough to the extremes.
      for (let hour = hourOf(2010); hour < hourOf(2040); hour += 24) {
        const { high, low } = candleOf(bars.hour(hour))
        if (low < price / 12 || high > price * 12) outside.push([coin, hour, low, high])
      }
    }
    expect(outside).toEqual([])
  })

  it('has all regimes, each for hours to days, which differ in drift', () => {
    const bars = createSimulatedBars('seed', 'ETH')
    const path = createPricePath('seed', simulatedCoin('ETH'))
    const from = hourOf(2020)
    const hours = 20_000
    const byRegime = new Map<string, number[]>()
    const lengths: number[] = []
    let length = 0
    for (let hour = from; hour < from + hours; hour++) {
      const { open, close } = candleOf(bars.hour(hour))
      const regime = path.regimeAt(hour)
      byRegime.set(regime, [...(byRegime.get(regime) ?? []), Math.log(close / open)])
      length++
      if (path.regimeAt(hour + 1) !== regime) {
        lengths.push(length)
        length = 0
      }
    }
    const share = (regime: string): number => (byRegime.get(regime)?.length ?? 0) / hours
    const drift = (regime: string): number => mean(byRegime.get(regime) ?? [])
    const spread = (regime: string): number => deviation(byRegime.get(regime) ?? [])
    for (const regime of ['ranging', 'rising', 'falling', 'volatile'])
      expect(share(regime)).toBeGreaterThan(0.04)
    expect(drift('rising')).toBeGreaterThan(0.0001)
    expect(drift('falling')).toBeLessThan(-0.0001)
    expect(Math.abs(drift('ranging'))).toBeLessThan(0.0006)
    expect(spread('volatile')).toBeGreaterThan(spread('ranging'))
    expect(mean(lengths)).toBeGreaterThan(20)
    expect(mean(lengths)).toBeLessThan(100)
  })

  it('has returns with heavy tails, of the volatility of the coin', () => {
    for (const coin of ['BTC', 'DOGE']) {
      const returns = returnsOf(closesOf(coin, hourOf(2018), 20_000))
      const spread = deviation(returns)
      const kurtosis = mean(returns.map((value) => value ** 4)) / spread ** 4
      expect(spread / simulatedCoin(coin).hourlyVolatility).toBeGreaterThan(0.8)
      expect(spread / simulatedCoin(coin).hourlyVolatility).toBeLessThan(1.5)
      expect(kurtosis).toBeGreaterThan(3.4)
      expect(kurtosis).toBeLessThan(10)
    }
  })

  it('trades more in the afternoon than at night, and less at weekends', () => {
    const bars = createSimulatedBars('seed', 'BTC')
    const monday = Date.UTC(2024, 0, 1) / HOUR_MS
    const volumeOf = (isWanted: (hourOfDay: number, day: number) => boolean): number => {
      const volumes: number[] = []
      for (let index = 0; index < 24 * 7 * 50; index++) {
        if (isWanted(index % 24, Math.floor(index / 24) % 7))
          volumes.push(candleOf(bars.hour(monday + index)).volume)
      }
      return mean(volumes)
    }
    expect(volumeOf((hour) => hour === 15)).toBeGreaterThan(1.3 * volumeOf((hour) => hour === 3))
    expect(volumeOf((_, day) => day < 5)).toBeGreaterThan(1.3 * volumeOf((_, day) => day >= 5))
  })

  it('settles funding at the interval of the coin, never out of bounds, both ways', () => {
    const intervals = new Map<string, number>()
    for (const coin of DEFAULT_SIMULATED_COINS) {
      const bars = createSimulatedBars('seed', coin)
      const rates: number[] = []
      for (let hour = hourOf(2024); hour < hourOf(2025); hour++) {
        const funding = bars.funding(hour)
        expect(funding !== undefined).toBe(hour % simulatedCoin(coin).fundingIntervalHours === 0)
        if (funding === undefined) continue
        expect(fundingRateSchema.safeParse(funding).success).toBe(true)
        expect(funding.time).toBe(hour * HOUR_MS)
        intervals.set(coin, funding.intervalHours)
        rates.push(funding.rate * (8 / funding.intervalHours))
      }
      expect(Math.min(...rates)).toBeLessThan(0)
      expect(Math.max(...rates)).toBeGreaterThan(0.0002)
    }
    expect(new Set(intervals.values())).toEqual(new Set([1, 4, 8]))
  })
})
