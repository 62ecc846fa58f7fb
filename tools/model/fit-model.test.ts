import { describe, expect, test } from 'vitest'
import { createModel } from '../../services/engine/model.ts'
import { describeHistory } from './describe-history.ts'
import { evaluateRecipe, fitModel, prepare } from './fit-model.ts'
import { plantedMarket } from './planted-market.fixture.ts'
import { RECIPE } from './recipe.ts'

const quiet = (): void => undefined
const BARS = 8_000
const markets = (first: number, edge: number) => [
  plantedMarket(first, BARS, edge),
  plantedMarket(first + 1, BARS, edge, 'ETH'),
]

async function fit(version: string, first: number, edge: number) {
  const histories = markets(first, edge)
  const used = histories.flatMap((history) => describeHistory(history) ?? [])
  return fitModel(version, await prepare(histories, RECIPE, quiet), used, quiet)
}

const fitted = await fit('planted-1', 5, 1)

describe('a planted edge', () => {
  test('is found, out of sample', () => {
    const skill = fitted.timeframes['1h']
    expect(skill.skill).toBe(true)
    expect(skill.measured?.auc?.low).toBeGreaterThan(0.52)
    const won = skill.measured?.winRates ?? expect.fail('Nothing was called.')
    expect(won.calledByBlocks.low ?? 0).toBeGreaterThan(Math.max(won.alwaysBuy.value, won.alwaysSell.value))
  })

  test('is found in the side that windows close on, by coefficients of their own', () => {
    const { closes, ...races } = fitted.timeframes['1h']
    if (!closes?.skill || !races.skill) throw new Error('No skill was found.')
    expect(closes.measured.auc?.low).toBeGreaterThan(0.52)
    expect(closes.coefficients).not.toEqual(races.coefficients)
    // More windows close on one side than reach a barrier.
    expect(closes.races).toBeGreaterThan(races.races)
    // Calls that follow a drift are right about the close, too.
    expect(races.measured.closedAsCalled?.low).toBeGreaterThan(0.5)
    expect(races.measured.chosenAuc).toEqual(races.measured.auc)
    expect(races.measured.untouchedAuc).toBeNull()
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
    const silent = { skill: false, reason: 'no skill was measured at 4h: too few bars were recorded' }
    expect(fitted.timeframes['4h']).toEqual({ ...silent, closes: silent })
  })
})

test('noise has no skill, and the reason says so', async () => {
  const model = await fit('noise-1', 3, 0)
  expect(model.timeframes['1h']).toMatchObject({
    skill: false,
    reason: expect.stringContaining('no skill was measured at 1h'),
  })
})

test('the same data gives the same file to the last byte', async () => {
  expect(JSON.stringify(await fit('planted-1', 5, 1))).toBe(JSON.stringify(fitted))
})

test('too few bars for a forecast have no score', async () => {
  const training = await prepare([plantedMarket(1, 400, 1)], RECIPE, quiet)
  expect(evaluateRecipe(training, '1h', quiet)).toBeUndefined()
})
