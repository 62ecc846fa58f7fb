import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Candle } from '../../contracts/domain/candle.ts'
import type { Series } from '../../contracts/domain/series.ts'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { verdictSchema } from '../../contracts/domain/verdict.ts'
import { type ErrorCode, isServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { randomWalk } from '../../testing/random-walk.ts'
import { type EngineReading, SeriesEngine, type SeriesRestart, type VerdictDraft } from './engine.ts'
import { loadModel } from './model/verdict-model.ts'

const model = loadModel()
const BTC: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }
const ETH: Series = { exchange: 'SIM', coin: 'ETH', timeframe: '1h' }
const BARS = 900
const bars = randomWalk(11, BARS)
const otherBars = randomWalk(12, BARS)

/** Readings of a series that is alone in its engine, one per bar. */
function replay(series: Series, history: readonly Candle[]): EngineReading[] {
  const engine = new SeriesEngine({ model })
  const slot = engine.open(series)
  return history.map((bar) => {
    engine.push(slot, bar)
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
      expect(1 / (1 + Math.exp(-sum))).toBe(probability)
      expect(factors.map(({ name }) => name)).toEqual(['price_to_ema50', 'wick_balance'])
    }
  })

  test('calls, ranks and explains', () => {
    const verdicts = long.slice(LIMITS.warmUpBars).map((reading) => verdictOf(reading))
    expect(new Set(verdicts.map(({ call }) => call))).toEqual(new Set(['BUY', 'SELL', 'HOLD']))
    expect(Math.max(...verdicts.map(({ strength }) => strength))).toBeGreaterThan(90)
    for (const { confidence, call, probability, reasoning } of verdicts) {
      expect(confidence).toBe(Math.round(100 * Math.max(probability, 1 - probability)))
      expect(reasoning).toContain(call === 'HOLD' ? 'HOLD, because neither' : `${call}: the `)
      const beyondExit = { BUY: probability > 0.515, SELL: probability < 0.485, HOLD: true }
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
    expect(verdict).toMatchObject({ call: 'HOLD', strength: 0 })
    expect(verdict.reasoning).toContain('HOLD, because no skill was measured at 1d')
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

describe('a hole in the bars', () => {
  /** A series whose bars are missing from one place on, and what it said of that. */
  function across(missing: number) {
    const restarts: SeriesRestart[] = []
    const engine = new SeriesEngine({ model, onRestart: (restart) => restarts.push(restart) })
    const opened = engine.open(BTC)
    for (const bar of bars.slice(0, 600)) engine.push(opened, bar)
    const after = bars.slice(600).map((bar) => ({ ...bar, openTime: bar.openTime + missing * HOUR_MS }))
    const readings = after.map((bar) => {
      engine.push(opened, bar)
      return engine.read(opened)
    })
    return { restarts, readings }
  }

  test('of twelve bars is passed over', () => {
    const { restarts, readings } = across(12)
    expect(restarts).toEqual([])
    expect(verdictOf(readings[0]).anchorBar).toBe(0)
  })

  test('of more begins the series anew: no verdict before the warm-up, a new anchor, one report', () => {
    const { restarts, readings } = across(13)
    expect(restarts).toEqual([{ series: BTC, from: 600 * HOUR_MS, to: 613 * HOUR_MS, barsMissing: 13 }])
    expect(readings[0]).toEqual({ status: 'insufficient_history', bars: 1, barsNeeded: 500 })
    expect(readings.every(({ status }) => status === 'insufficient_history')).toBe(true)
  })

  test('leaves nothing of what was before it', () => {
    const engine = new SeriesEngine({ model })
    const opened = engine.open(BTC)
    for (const bar of otherBars.slice(0, 700)) engine.push(opened, bar)
    const later = bars.map((bar) => ({ ...bar, openTime: bar.openTime + 8_000 * HOUR_MS }))
    const whole = replay(BTC, later)
    for (const [index, bar] of later.entries()) {
      // Another coin by the same name may cost a thousand times as much.
      engine.push(opened, bar)
      expect(engine.read(opened)).toStrictEqual(whole[index])
    }
  })
})

describe('the same bars from the same anchor', () => {
  test('give the same verdicts among other series', () => {
    const engine = new SeriesEngine({ model })
    const first = engine.open({ ...BTC, coin: 'FIRST' })
    const eth = engine.open(ETH)
    const btc = engine.open(BTC)
    for (const [index, bar] of bars.entries()) {
      engine.push(eth, otherBars[index] ?? bar)
      if (index % 3 === 0) engine.push(first, bar)
      if (index < 200) engine.open({ ...BTC, coin: `C${index}` })
      if (index === 300) engine.close(first)
      if (index === 301) engine.open({ ...BTC, coin: 'LAST' })
      engine.push(btc, bar)
      expect(engine.read(btc)).toStrictEqual(alone[index])
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
  ])('%s', (_, misuse) => {
    expect(codeOf(misuse)).toBe('internal_error')
    expect(engine.seriesCount).toBe(1)
    expect(engine.read(slot)).toMatchObject({ bars: 1 })
  })
})
