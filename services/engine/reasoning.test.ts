import { describe, expect, test } from 'vitest'
import type { Factor, Forecast } from '../../contracts/verdict.ts'
import { loadModel, type TimeframeSkill } from './model.ts'
import { reasoningFor } from './reasoning.ts'

const skill: TimeframeSkill = loadModel().timeframes['1h']
const factor = (name: string, contribution: number, value = 1): Factor => ({
  name,
  value,
  contribution,
  status: 'measured',
})
const factors = [
  factor('bias', 0.9),
  factor('momentum_24', -0.2, 1.067),
  factor('range_position', 0.5, -0.0042),
  factor('funding_level', 0.1),
]

const forecast: Forecast = {
  model: 'range-1',
  volatility: 0.009,
  p10: -0.0106,
  p25: -0.005,
  p50: 0,
  p75: 0.0049,
  p90: 0.0104,
}
const said = (change: Partial<Parameters<typeof reasoningFor>[0]>, of: TimeframeSkill = skill): string =>
  reasoningFor(
    {
      call: 'HOLD',
      confidence: 52,
      probability: 0.52,
      regime: 'RANGING',
      factors,
      forecast: null,
      ...change,
    },
    of,
  )

describe('the sentence', () => {
  test('says how far the price may go, a silent timeframe or not; small moves with two digits', () => {
    const reach = 'By the end of the window the price is within −1.1 % and +1.0 % in four of five cases.'
    expect(said({ forecast })).toMatch(new RegExp(`ranging\\. ${reach.replace('+', '\\+')}$`))
    expect(said({ forecast }, { skill: false, reason: 'of this' })).toContain(`because of this. ${reach}`)
    expect(said({ forecast: { ...forecast, p10: -0.000812, p90: 0.0945 } })).toContain('−0.081 % and +9.4 %')
  })

  test('states the confidence it is given and the two weightiest measurements', () => {
    expect(said({ call: 'BUY', confidence: 54, probability: 0.541, regime: 'RANGING' })).toBe(
      'BUY with 54 % confidence that the upper barrier comes first; the place in the range of 48 bars (−0.0042, speaks for BUY) and momentum over 24 bars (+1.07, speaks for SELL) weigh most in a market that is ranging.',
    )
  })

  test('has one number where the probability lies beyond the cap of the confidence', () => {
    const sentence = said({ call: 'SELL', confidence: 60, probability: 0.38, regime: 'TRENDING_DOWN' })
    expect(sentence).toContain('SELL with 60 % confidence that the lower barrier comes first')
    expect(sentence).not.toContain('62')
  })

  test('says that a HOLD was too close to call', () => {
    expect(said({ call: 'HOLD', confidence: 52, probability: 0.52, regime: 'RANGING' })).toContain(
      'HOLD with 52 % confidence that the upper barrier comes first, too little for a call, which begins at a probability of 0.53 (0.520 here); the place in the range of 48 bars (−0.0042, speaks for BUY)',
    )
  })

  test('says why a call goes on with less than it began with, and why a HOLD of 53 % is none', () => {
    expect(said({ call: 'BUY', confidence: 51, probability: 0.5125 })).toContain(
      'BUY with 51 % confidence that the upper barrier comes first, a call that began at a probability of 0.53 and lasts until 0.505; the place',
    )
    expect(said({ call: 'SELL', confidence: 51, probability: 0.49 })).toContain(
      'lasts until 0.505; the place',
    )
    expect(said({ call: 'SELL', confidence: 53, probability: 0.47 })).toContain(
      'barrier comes first; the place',
    )
    // Rounded it would be the 0.53 that it has not reached.
    expect(said({ call: 'HOLD', confidence: 53, probability: 0.52997 })).toContain('of 0.53 (0.529 here)')
  })

  test('says so where nothing could be measured', () => {
    const bias = [factor('bias', -0.1)]
    expect(
      said({ call: 'HOLD', confidence: 52, probability: 0.475, regime: 'VOLATILE', factors: bias }),
    ).toContain('nothing that could be measured weighs in a market that is without trend')
  })

  test('gives the reason instead where the timeframe has no skill', () => {
    const none: TimeframeSkill = { skill: false, reason: 'no skill was measured at 1d' }
    expect(said({ confidence: 50, probability: 0.5 }, none)).toBe(
      'HOLD in a market that is ranging, because no skill was measured at 1d.',
    )
  })
})
