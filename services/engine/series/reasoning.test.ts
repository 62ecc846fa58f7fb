import { describe, expect, test } from 'vitest'
import { TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import type { Factor, Forecast } from '../../../contracts/domain/verdict.ts'
import { loadModel } from '../model/verdict-model.ts'
import { type Explained, reasoningFor } from './reasoning.ts'

const { timeframes } = loadModel()
const factor = (name: string, value: number | null, contribution: number): Factor => ({
  name,
  value,
  contribution,
  status: value === null ? 'unavailable' : 'measured',
})
const factors = [factor('price_to_ema50', -3.1, -0.11), factor('wick_balance', 0.0813, -0.033)]
const forecast: Forecast = {
  model: 'barrier-6',
  volatility: 0.009,
  p10: -0.0106,
  p25: -0.005,
  p50: 0,
  p75: 0.0049,
  p90: 0.0104,
}
const RANGE = 'In four of five windows the price ends within -1.1 % and +1.0 %; volatility 0.90 %.'
const PARTS =
  'Distance to EMA50 (-3.1 ATR, speaks for SELL) and shadows of the bars (+0.08 ATR, speaks for SELL).'

function said(change: Partial<Explained> = {}, withdrawn?: string): string {
  const verdict: Explained = {
    timeframe: '15m',
    call: 'SELL',
    probability: 0.448,
    factors,
    forecast,
    ...change,
  }
  return reasoningFor(verdict, timeframes[verdict.timeframe], undefined, withdrawn)
}

describe('the sentences', () => {
  test('of a call begin with the range, name both parts, and end with the record of such calls', () => {
    expect(said()).toBe(
      `${RANGE} SELL: the lower barrier comes first with 55 %, if one is reached. ${PARTS} At 15m such calls won 54.7 % of decided outcomes outside of the fit, random sides 50.3 %; after costs they earned nothing.`,
    )
  })

  test('of a call whose timeframe the newest half year does not confirm say so', () => {
    expect(said({ timeframe: '1h' })).toContain(
      'random sides 50.1 %, not confirmed on the newest half year; after',
    )
  })

  test('of a call that goes on with less than it began with say so', () => {
    expect(said({ probability: 0.482 })).toContain(
      'with 52 %, if one is reached (the call began at 53.0 %). Dist',
    )
  })

  test('of a HOLD say what is missing, and never that a threshold was reached which was not', () => {
    expect(said({ call: 'HOLD', probability: 0.52997 })).toBe(
      `${RANGE} HOLD, because neither barrier is likely enough to come first: 52.9 % for the upper one, and a call begins at 53.0 %. ${PARTS}`,
    )
  })

  test('of a silent timeframe give the reason of the model file, with range and parts', () => {
    expect(said({ timeframe: '4h', call: 'HOLD' })).toBe(
      `${RANGE} HOLD, because no skill was measured at 4h: its calls won 3.0 [-0.9, 6.9] points over random sides, which may be chance. ${PARTS}`,
    )
  })

  test('of a withdrawn timeframe keep range and parts', () => {
    expect(said({ call: 'HOLD' }, 'calls at 15m are withdrawn since 2026-05-21')).toBe(
      `${RANGE} HOLD, because calls at 15m are withdrawn since 2026-05-21. ${PARTS}`,
    )
  })

  test('name only what weighs', () => {
    const one = [factor('price_to_ema50', null, 0), factor('wick_balance', 0.25, -0.1)]
    expect(said({ factors: one })).toContain(
      'reached. Shadows of the bars (+0.3 ATR, speaks for SELL). At 15m such calls',
    )
    expect(said({ call: 'HOLD', factors: [factor('price_to_ema50', 0, 0)] })).toMatch(/begins at 53\.0 %\.$/)
  })

  test('of a still market have nothing else', () => {
    const verdict: Explained = {
      timeframe: '1h',
      call: 'HOLD',
      probability: 0.5,
      factors: [],
      forecast: null,
    }
    expect(reasoningFor(verdict, timeframes['1h'], 'moves', undefined)).toBe(
      'HOLD, because the price has not moved for 50 bars; nothing can be measured.',
    )
  })

  test('are ASCII, and below 500 characters at their longest', () => {
    const widest = { ...forecast, p10: -0.000812, p90: 0.945, volatility: 0.000123 }
    for (const timeframe of TIMEFRAMES)
      expect(said({ timeframe, probability: 0.482, forecast: widest })).toMatch(/^[ -~]{1,499}$/)
  })
})
