import { describe, expect, test } from 'vitest'
import type { Factor } from '../../contracts/verdict.ts'
import { loadModel, type TimeframeSkill } from './model.ts'
import { reasoningFor } from './reasoning.ts'

const skill: TimeframeSkill = loadModel().timeframes['1h']
const factor = (name: string, contribution: number): Factor => ({
  name,
  value: 1,
  contribution,
  status: 'measured',
})
const factors = [
  factor('bias', 0.9),
  factor('momentum_24', -0.2),
  factor('range_position', 0.5),
  factor('funding_level', 0.1),
]

describe('the sentence', () => {
  test('states the confidence it is given and the two weightiest measurements', () => {
    expect(reasoningFor('BUY', 54, 0.541, 'RANGING', factors, skill)).toBe(
      'BUY with 54 % confidence that the upper barrier comes first; the place in the range of 48 bars (up) and momentum over 24 bars (down) weigh most in a market that is ranging.',
    )
  })

  test('has one number where the probability lies beyond the cap of the confidence', () => {
    const sentence = reasoningFor('SELL', 60, 0.38, 'TRENDING_DOWN', factors, skill)
    expect(sentence).toContain('SELL with 60 % confidence that the lower barrier comes first')
    expect(sentence).not.toContain('62')
  })

  test('says that a HOLD was too close to call', () => {
    expect(reasoningFor('HOLD', 52, 0.52, 'RANGING', factors, skill)).toContain(
      'HOLD with 52 % confidence that the upper barrier comes first, too little for a call; the place in the range of 48 bars (up)',
    )
  })

  test('says so where nothing could be measured', () => {
    const bias = [factor('bias', -0.1)]
    expect(reasoningFor('HOLD', 52, 0.475, 'VOLATILE', bias, skill)).toContain(
      'nothing that could be measured weighs in a market that is without trend',
    )
  })

  test('gives the reason instead where the timeframe has no skill', () => {
    const none: TimeframeSkill = { skill: false, reason: 'no skill was measured at 1d' }
    expect(reasoningFor('HOLD', 50, 0.5, 'RANGING', factors, none)).toBe(
      'HOLD in a market that is ranging, because no skill was measured at 1d.',
    )
  })
})
