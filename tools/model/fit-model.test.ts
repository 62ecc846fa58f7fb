import { describe, expect, test } from 'vitest'
import type { ErrorCode } from '../../contracts/errors.ts'
import { isServiceError } from '../../contracts/errors.ts'
import { createModel } from '../../services/engine/model.ts'
import { evaluateRecipe, fitModel, prepare } from './fit-model.ts'
import { plantedMarket } from './planted-market.fixture.ts'
import { RECIPE } from './recipe.ts'

const quiet = (): void => undefined
const BARS = 8_000
const trending = prepare([plantedMarket(1, BARS, 1), plantedMarket(2, BARS, 1, 'ETH')], quiet)
const noise = prepare([plantedMarket(3, BARS, 0), plantedMarket(4, BARS, 0, 'ETH')], quiet)
const fitted = fitModel('planted-1', trending, RECIPE, quiet)

describe('a planted edge', () => {
  test('is found, out of sample', () => {
    const skill = fitted.timeframes['1h']
    expect(skill.skill).toBe(true)
    expect(skill.measured?.auc?.low).toBeGreaterThan(0.52)
    const won = skill.measured?.winRates ?? expect.fail('Nothing was called.')
    expect(won.called.low ?? 0).toBeGreaterThan(Math.max(won.alwaysBuy.value, won.alwaysSell.value))
  })

  test('is gone where outcomes are moved', () => {
    const { auc, placeboAuc } = fitted.timeframes['1h'].measured ?? expect.fail('Nothing was measured.')
    // A market with long moods gives even chance a wide interval; the edge lies beyond it.
    expect(placeboAuc?.low).toBeLessThan(0.5)
    expect(auc?.low ?? 0).toBeGreaterThan(placeboAuc?.high ?? 1)
  })

  test('makes a model that loads, for the timeframes that have data', () => {
    const model = createModel(fitted)
    expect(model.provenance.series.map(({ coin, bars }) => [coin, bars])).toEqual([
      ['BTC', BARS],
      ['ETH', BARS],
    ])
    expect(fitted.timeframes['4h']).toEqual({
      skill: false,
      reason: 'no skill was measured at 4h: too few bars were recorded',
    })
  })
})

test('noise has no skill, and the reason says so', () => {
  const model = fitModel('noise-1', noise, RECIPE, quiet)
  expect(model.timeframes['1h']).toMatchObject({
    skill: false,
    reason: expect.stringContaining('no skill was measured at 1h'),
  })
})

test('the same data gives the same file to the last byte', () => {
  const again = prepare([plantedMarket(1, BARS, 1), plantedMarket(2, BARS, 1, 'ETH')], quiet)
  expect(JSON.stringify(fitModel('planted-1', again, RECIPE, quiet))).toBe(JSON.stringify(fitted))
})

test('without bars of the timeframe it fits on there is no model', () => {
  let code: ErrorCode | undefined
  try {
    evaluateRecipe(prepare([plantedMarket(1, 400, 1)], quiet), '1h', RECIPE, quiet)
  } catch (error) {
    if (!isServiceError(error)) throw error
    code = error.code
  }
  expect(code).toBe('market_data_missing')
})
