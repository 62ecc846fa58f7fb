import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Candle } from '../../contracts/candle.ts'
import { type ErrorCode, isServiceError } from '../../contracts/errors.ts'
import { FUNDING_COUNTS_AFTER_MS, type FundingRate, fundingCountsFrom } from '../../contracts/funding.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Series } from '../../contracts/series.ts'
import { HOUR_MS, TIMEFRAMES, timeframeMs } from '../../contracts/timeframes.ts'
import { verdictSchema } from '../../contracts/verdict.ts'
import { randomWalk } from '../../testing/random-walk.ts'
import { type Engine, type EngineReading, SeriesEngine, type VerdictDraft } from './engine.ts'
import { loadModel } from './model.ts'

const model = loadModel()
const BTC: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }
const ETH: Series = { exchange: 'SIM', coin: 'ETH', timeframe: '1h' }
/** Past the bar from which funding counts. */
const BARS = 900
const bars = randomWalk(11, BARS)
const otherBars = randomWalk(12, BARS)
const fundingAt = (time: number) => ({ time, rate: 0.0001 * Math.sin(time), intervalHours: 8 })

/** Feeds a bar with the funding that settles as it closes. */
function feed(engine: Engine, slot: number, series: Series, bar: Candle): void {
  const close = bar.openTime + HOUR_MS
  if (close % (8 * HOUR_MS) === 0) engine.pushFunding(series, fundingAt(close))
  engine.push(slot, bar)
}

/** Readings of a series that is alone in its engine, one per bar. */
function replay(series: Series, history: readonly Candle[]): EngineReading[] {
  const engine = new SeriesEngine({ model })
  const slot = engine.open(series)
  return history.map((bar) => {
    feed(engine, slot, series, bar)
    return engine.read(slot)
  })
}

function verdictOf(reading: EngineReading | undefined): VerdictDraft {
  if (reading?.status !== 'verdict') throw new Error(`There is no verdict but ${JSON.stringify(reading)}.`)
  return reading.verdict
}

const codeOf = (action: () => unknown): ErrorCode | undefined => {
  try {
    action()
  } catch (error) {
    if (isServiceError(error)) return error.code
    throw error
  }
  return undefined
}

const alone = replay(BTC, bars)
/** Long enough for every call and every regime. */
const long = replay(BTC, randomWalk(11, 2_500))

describe('a verdict', () => {
  test('needs 500 bars and says how many there are', () => {
    expect(alone[498]).toEqual({ status: 'insufficient_history', bars: 499, barsNeeded: 500 })
    expect(alone[LIMITS.warmUpBars - 1]?.status).toBe('verdict')
  })

  test('has the recorded shape and survives JSON unchanged', () => {
    for (const reading of alone.slice(LIMITS.warmUpBars)) {
      const place = { verdictId: '01890a5d-ac96-774b-bcce-b302099a8057', previous: null, recordedLate: false }
      const verdict = { ...verdictOf(reading), ...place }
      expect(verdictSchema.parse(verdict)).toEqual(verdict)
      expect(JSON.parse(JSON.stringify(verdict))).toStrictEqual(verdict)
    }
  })

  test('is about the window after its bar', () => {
    const verdict = verdictOf(alone[600])
    expect(verdict.barClose).toBe(601 * HOUR_MS)
    expect(verdict.validUntil).toBe(609 * HOUR_MS)
    expect(verdict.anchorBar).toBe(0)
    expect(verdict.price).toBe(bars[600]?.close)
  })

  test('has factors that add up to its log-odds', () => {
    for (const reading of alone.slice(LIMITS.warmUpBars)) {
      const { factors, probability } = verdictOf(reading)
      const sum = factors.reduce((total, { contribution }) => total + contribution, 0)
      expect(Math.abs(sum - Math.log(probability / (1 - probability)))).toBeLessThan(1e-12)
      expect(factors.map(({ name }) => name)).toEqual(['bias', ...model.names])
    }
  })

  test('says whether the window closes higher, by weights of its own on what the race was told from', () => {
    const { closes } = model.timeframes['1h']
    if (!closes?.skill) throw new Error('The model of this release has no such skill at 1h.')
    for (const reading of alone.slice(LIMITS.warmUpBars)) {
      const { factors, closesHigher = Number.NaN } = verdictOf(reading)
      const score = factors.slice(1).reduce((sum, { value }, index) => {
        const units = (value ?? 0) / (closes.scales[index] ?? 1)
        return sum + (closes.coefficients[index] ?? 0) * Math.min(model.clip, Math.max(-model.clip, units))
      }, 0)
      expect(closesHigher).toBeCloseTo(1 / (1 + Math.exp(-closes.offset - closes.slope * score)), 12)
    }
  })

  test('says nothing of the close where no skill at it is shown, and with a model that knows of none', () => {
    const { closes: _none, ...races } = model.timeframes['1h']
    const former = { ...model, timeframes: { ...model.timeframes, '1h': races } }
    const [silent, speaking] = [former, model].map((one) => {
      const engine = new SeriesEngine({ model: one })
      const slot = engine.open(BTC)
      for (const bar of bars) engine.push(slot, bar)
      return verdictOf(engine.read(slot))
    })
    const { closesHigher, ...same } = speaking ?? expect.fail()
    expect(silent).toStrictEqual(same)
    expect(closesHigher).toBeDefined()
    expect(model.timeframes['8h'].closes?.skill).toBe(false)
    const engine = new SeriesEngine({ model })
    const slow = engine.open({ ...BTC, timeframe: '8h' })
    for (const bar of bars) engine.push(slow, { ...bar, openTime: bar.openTime * 8 })
    expect(verdictOf(engine.read(slow))).not.toHaveProperty('closesHigher')
  })

  test('calls, ranks and explains', () => {
    const verdicts = long.slice(LIMITS.warmUpBars).map((reading) => verdictOf(reading))
    expect(new Set(verdicts.map(({ call }) => call))).toEqual(new Set(['BUY', 'SELL', 'HOLD']))
    expect(Math.max(...verdicts.map(({ strength }) => strength))).toBeGreaterThan(90)
    for (const { confidence, call, probability, reasoning } of verdicts) {
      expect(confidence).toBe(Math.min(60, Math.round(100 * Math.max(probability, 1 - probability))))
      expect(reasoning).toContain(`${call} with ${confidence} % confidence`)
      const beyondExit = { BUY: probability > 0.505, SELL: probability < 0.495, HOLD: true }
      expect(beyondExit[call]).toBe(true)
    }
  })

  test('dates its regime from the bar on which it changed', () => {
    const verdicts = long.slice(LIMITS.warmUpBars).map((reading) => verdictOf(reading))
    for (const [index, verdict] of verdicts.entries()) {
      const before = verdicts[index - 1]
      if (before === undefined) continue
      const changed = verdict.regime !== before.regime
      expect(verdict.regimeSince).toBe(changed ? verdict.barClose : before.regimeSince)
    }
    expect(new Set(verdicts.map(({ regime }) => regime))).toEqual(
      new Set(['TRENDING_UP', 'TRENDING_DOWN', 'RANGING', 'VOLATILE']),
    )
  })

  test('is HOLD with a reason where the model has no skill', () => {
    const engine = new SeriesEngine({ model })
    const slot = engine.open({ ...BTC, timeframe: '1d' })
    for (const bar of bars) engine.push(slot, { ...bar, openTime: bar.openTime * 24 })
    const verdict = verdictOf(engine.read(slot))
    expect(verdict).toMatchObject({ call: 'HOLD', confidence: 50, probability: 0.5, strength: 0 })
    expect(verdict.reasoning).toContain('no skill was measured at 1d')
    expect(verdict.factors.every(({ contribution }) => contribution === 0)).toBe(true)
  })

  test('stands in a market that never moves', () => {
    const engine = new SeriesEngine({ model })
    const slot = engine.open(BTC)
    for (let index = 0; index < LIMITS.warmUpBars; index++) {
      engine.push(slot, { openTime: index * HOUR_MS, open: 5, high: 5, low: 5, close: 5, volume: 0 })
    }
    const reading = engine.read(slot)
    expect(verdictOf(reading)).toMatchObject({
      regime: 'RANGING',
      regimeStrength: 0,
      volatilityPercentile: 0,
    })
    expect(verdictOf(reading)).not.toHaveProperty('closesHigher')
    expect(reading).toMatchObject({
      metrics: {
        emaGapAtr: null,
        realisedVolatility: 0,
        direction: 'NONE',
        liveliness: null,
        percentileBars: 486,
        barrier: 0.003,
      },
    })
  })
})

describe('funding', () => {
  const factorAfter = (push: (engine: Engine) => void) => {
    const engine = new SeriesEngine({ model })
    const slot = engine.open(BTC)
    for (const bar of bars.slice(0, -1)) engine.push(slot, bar)
    push(engine)
    engine.push(slot, bars[BARS - 1] ?? expect.fail('The walk is too short.'))
    return verdictOf(engine.read(slot)).factors.find(({ name }) => name === 'funding_level')
  }
  const close = BARS * HOUR_MS
  const unavailable = { value: null, contribution: 0, status: 'unavailable' }

  test('counts as its yearly level', () => {
    const factor = factorAfter((engine) =>
      engine.pushFunding(BTC, { time: close - FUNDING_COUNTS_AFTER_MS, rate: 0.0001, intervalHours: 8 }),
    )
    expect(factor?.status).toBe('measured')
    expect(factor?.value).toBeCloseTo(0.1095, 12)
    expect(factor?.contribution).not.toBe(0)
  })

  test.each([
    ['none came', () => undefined],
    ['it is of another coin', (engine: Engine) => engine.pushFunding(ETH, fundingAt(close))],
    [
      'it is three intervals old',
      (engine: Engine) => engine.pushFunding(BTC, fundingAt(close - 25 * HOUR_MS)),
    ],
    [
      'it settles so shortly before the close that venues may not have told of it',
      (engine: Engine) => engine.pushFunding(BTC, fundingAt(close - FUNDING_COUNTS_AFTER_MS + 1)),
    ],
  ])('is unavailable, never normal, when %s', (_, push) => {
    expect(factorAfter(push)).toMatchObject(unavailable)
  })

  test('counts for the same bars whenever it comes: with its bar, long before, or out of order', () => {
    const settlements = Array.from({ length: 112 }, (_, index) => fundingAt((index + 1) * 8 * HOUR_MS))
    const engine = new SeriesEngine({ model })
    const hashWith = (before: (index: number) => readonly FundingRate[]): string => {
      const slot = engine.open(BTC)
      for (const [index, bar] of bars.entries()) {
        for (const funding of before(index)) engine.pushFunding(BTC, funding)
        engine.push(slot, bar)
      }
      const { inputsHash } = verdictOf(engine.read(slot))
      engine.close(slot)
      return inputsHash
    }
    const closeOf = (index: number): number => (index + 1) * HOUR_MS
    const inTime = hashWith((index) => settlements.filter(({ time }) => time === closeOf(index - 1)))
    expect(hashWith((index) => settlements.filter(({ time }) => time === closeOf(index)))).toBe(inTime)
    expect(hashWith((index) => (index === 0 ? settlements.toReversed() : []))).toBe(inTime)
  })

  test('reaches every timeframe of its market', () => {
    const engine = new SeriesEngine({ model })
    const history = randomWalk(11, LIMITS.historyBars + 1)
    for (const timeframe of TIMEFRAMES) {
      const slot = engine.open({ ...BTC, timeframe })
      const barMs = timeframeMs(timeframe)
      const push = (some: readonly Candle[]): string => {
        for (const bar of some) engine.push(slot, { ...bar, openTime: (bar.openTime / HOUR_MS) * barMs })
        return verdictOf(engine.read(slot)).inputsHash
      }
      const before = push(history.slice(0, -1))
      engine.pushFunding(BTC, fundingAt(LIMITS.historyBars * barMs - HOUR_MS))
      expect(verdictOf(engine.read(slot)).inputsHash).toBe(before)
      const newest = push(history.slice(-1))
      const without = new SeriesEngine({ model })
      const other = without.open({ ...BTC, timeframe })
      for (const bar of history) without.push(other, { ...bar, openTime: (bar.openTime / HOUR_MS) * barMs })
      expect(newest).not.toBe(verdictOf(without.read(other)).inputsHash)
      engine.close(slot)
    }
  })

  test.each(['30m', '1h', '4h', '1d'] as const)(
    'of before the days that a start fetches does not count at %s, whether it was known or not',
    (timeframe) => {
      const barMs = timeframeMs(timeframe)
      const history = randomWalk(11, LIMITS.historyBars).map((bar, index) => ({
        ...bar,
        openTime: index * barMs,
      }))
      const from = fundingCountsFrom(timeframe, 0)
      const hashWith = (settlements: readonly number[]): string => {
        const engine = new SeriesEngine({ model })
        const slot = engine.open({ ...BTC, timeframe })
        for (const time of settlements) engine.pushFunding(BTC, fundingAt(time))
        for (const bar of history) engine.push(slot, bar)
        return verdictOf(engine.read(slot)).inputsHash
      }
      const nothing = hashWith([])
      if (from > 0) expect(hashWith([from - 8 * HOUR_MS, from - 1])).toBe(nothing)
      expect(hashWith([from])).not.toBe(nothing)
      // A start at the first bar behind the history knows all that counts.
      expect(history.length * barMs - from).toBeLessThanOrEqual(LIMITS.fundingCountsMs)
    },
  )
})

describe('the same bars from the same anchor', () => {
  test('give the same verdicts among other series, in another slot and through growth', () => {
    const engine = new SeriesEngine({ model })
    const first = engine.open({ ...BTC, coin: 'FIRST' })
    const eth = engine.open(ETH)
    const btc = engine.open(BTC)
    for (const [index, bar] of bars.entries()) {
      feed(engine, eth, ETH, otherBars[index] ?? bar)
      if (index % 3 === 0) engine.push(first, bar)
      // Slabs grow in the midst of the series' life, and slots around it come and go.
      if (index < 200) engine.open({ ...BTC, coin: `C${index}` })
      if (index === 300) engine.close(first)
      if (index === 301) engine.open({ ...BTC, coin: 'LAST' })
      feed(engine, btc, BTC, bar)
      expect(engine.read(btc)).toStrictEqual(alone[index])
    }
  })

  test('give the same verdicts in a slot that another series left', () => {
    const engine = new SeriesEngine({ model })
    const left = engine.open(ETH)
    for (const bar of otherBars) feed(engine, left, ETH, bar)
    engine.close(left)
    const slot = engine.open(BTC)
    expect(slot).toBe(left)
    for (const [index, bar] of bars.entries()) {
      feed(engine, slot, BTC, bar)
      expect(engine.read(slot)).toStrictEqual(alone[index])
    }
  })

  test('give the same verdicts whatever comes after them', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: BARS - 1 }), fc.integer(), (length, seed) => {
        const future = randomWalk(seed, BARS).slice(length)
        const readings = replay(BTC, [...bars.slice(0, length), ...future])
        expect(readings.slice(0, length)).toStrictEqual(alone.slice(0, length))
      }),
      { numRuns: 10 },
    )
  })

  test('do not give the same hash from another anchor', () => {
    const later = verdictOf(replay(BTC, bars.slice(1)).at(-1))
    expect(later.anchorBar).toBe(HOUR_MS)
    expect(later.inputsHash).not.toBe(verdictOf(alone.at(-1)).inputsHash)
  })
})

describe('misuse is refused', () => {
  const engine = new SeriesEngine({ model })
  const slot = engine.open(BTC)
  const [first, second] = bars
  if (first === undefined || second === undefined) throw new Error('The walk is too short.')
  engine.push(slot, second)

  test.each([
    ['a bar twice', () => engine.push(slot, second)],
    ['a bar before the last one', () => engine.push(slot, first)],
    [
      'a bar that cannot be one',
      () => engine.push(slot, { ...second, openTime: HOUR_MS * 9, low: Number.NaN }),
    ],
    ['a series opened twice', () => engine.open({ ...BTC })],
    ['a slot never opened', () => engine.read(99)],
    [
      'a slot closed twice',
      () => {
        const closed = engine.open(ETH)
        engine.close(closed)
        engine.close(closed)
      },
    ],
  ])('%s', (_, misuse) => {
    expect(codeOf(misuse)).toBe('internal_error')
    expect(engine.seriesCount).toBe(1)
    expect(engine.read(slot)).toMatchObject({ bars: 1 })
  })
})
