import { expect, test } from 'vitest'
import { describeHistory } from './describe-history.ts'
import { evaluateRecipe, fitModel, prepare } from './fit-model.ts'
import { plantedMarket } from './planted-market.fixture.ts'
import { RECIPE } from './recipe.ts'

const quiet = (): void => undefined
const BARS = 8_000
const markets = [
  plantedMarket(5, BARS, 1),
  plantedMarket(6, BARS, 1, 'ETH'),
  plantedMarket(30, BARS, 0, 'LTC'),
]

test('a coin on which the walk shows nothing is silent at a timeframe that speaks', async () => {
  const used = markets.flatMap((history) => describeHistory(history) ?? [])
  const model = fitModel('planted-1', await prepare(markets, RECIPE, quiet), used, quiet)
  expect(model.timeframes['1h'].skill).toBe(true)
  const { coins, walkedAuc } = model.gate?.['1h'] ?? expect.fail('The timeframe has no scores by coin.')
  expect(coins.map(({ coin, silence }) => [coin, silence === undefined])).toEqual([
    ['BTC', true],
    ['ETH', true],
    ['LTC', false],
  ])
  expect(coins[2]?.silence).toMatch(/^no skill was shown for LTC at 1h: its forecasts had an AUC of 0\.\d/)
  expect(walkedAuc).toBeCloseTo(model.timeframes['1h'].measured?.auc?.value ?? 0, 9)
  expect(Object.keys(model.gate ?? {})).toEqual(['1h'])
})

test('a coin whose few weeks show nothing is silent as well', async () => {
  const young = { ...plantedMarket(30, BARS, 0, 'LTC') }
  const training = await prepare(
    [...markets.slice(0, 2), { ...young, bars: young.bars.slice(-1_800) }],
    RECIPE,
    quiet,
  )
  const { gate } = evaluateRecipe(training, '1h', quiet) ?? expect.fail('There was nothing to score.')
  const found = gate.coins.find(({ coin }) => coin === 'LTC')
  expect(found?.observedDays).toBeLessThan(90)
  expect(found?.silence).toMatch(/^no skill was shown for LTC at 1h/)
})

test('calls are counted once, by their confidence', async () => {
  const training = await prepare(markets, RECIPE, quiet)
  const { gate, evaluation } =
    evaluateRecipe(training, '1h', quiet) ?? expect.fail('There was nothing to score.')
  const counted = gate.confidences.reduce((sum, { calls }) => sum + calls, 0)
  expect(counted).toBe(evaluation.all.everyCall?.trades)
  const mean = gate.confidences.reduce((sum, { calls, gross }) => sum + calls * gross.value, 0) / counted
  expect(mean).toBeCloseTo(evaluation.all.everyCall?.called.gross.value ?? 0, 6)
})
