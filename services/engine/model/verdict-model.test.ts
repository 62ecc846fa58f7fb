import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  CALLING_AUC,
  CALLING_TIMEFRAMES,
  HIGHEST_CONFIDENCE,
  TIMEFRAMES,
  UNCONFIRMED_TIMEFRAMES,
} from '../../../contracts/domain/timeframes.ts'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import { createModel, loadModel, modelFile } from './verdict-model.ts'

const data = JSON.parse(readFileSync(new URL('./barrier-6.json', import.meta.url), 'utf8')) as {
  direction: object
  timeframes: object
}
const { timeframes, direction } = loadModel()

test('the model that ships has the numbers that were measured', () => {
  expect(direction).toEqual({
    clip: 3,
    factors: {
      price_to_ema50: { weight: 0.08, unit: 2.3 },
      wick_balance: { weight: -0.051, unit: 0.126 },
    },
    entry: 0.53,
    exit: 0.515,
  })
  const widths = TIMEFRAMES.map((timeframe) => {
    const { inner, outer, deviation } = timeframes[timeframe]
    return [inner, outer, deviation]
  })
  expect(widths).toEqual([
    [0.364, 0.7134, 0.6314],
    [0.3386, 0.6896, 0.661],
    [0.3461, 0.7066, 0.6593],
    [0.3533, 0.7402, 0.6825],
    [0.3665, 0.7725, 0.7004],
    [0.3823, 0.8137, 0.7242],
    [0.4045, 0.8532, 0.7448],
    [0.4196, 0.8824, 0.7691],
    [0.4361, 0.925, 0.8148],
    [0.4456, 0.9526, 0.8361],
    [0.4671, 0.9908, 0.8571],
  ])
  expect(data).toMatchObject({
    ranges: {
      weights: { v2: 0.202, v8: 0.24, m200: 0.45 },
      hours: {
        weekday: [
          1.4858, 1.2276, 1.0283, 0.8171, 0.7693, 0.734, 0.8089, 0.8825, 0.9961, 0.9279, 0.8911, 0.8759,
          1.2799, 1.5247, 1.8304, 1.5808, 1.5751, 1.2481, 1.1648, 1.0794, 1.0739, 0.9723, 0.9502, 0.8076,
        ],
        weekend: [
          1.0547, 0.7918, 0.663, 0.5532, 0.6296, 0.5555, 0.5365, 0.5841, 0.6314, 0.6163, 0.6265, 0.6072,
          0.7084, 0.7455, 0.8567, 0.855, 1.0577, 0.821, 0.7269, 0.6748, 0.8141, 0.7618, 0.988, 0.8115,
        ],
      },
    },
  })
})

test('contracts say of the model what its file says', () => {
  const calling = TIMEFRAMES.flatMap((timeframe) => {
    const skill = timeframes[timeframe]
    return skill.calls ? [[timeframe, skill.auc, skill.confirmed] as const] : []
  })
  expect(calling.map(([timeframe]) => timeframe)).toEqual(CALLING_TIMEFRAMES)
  expect(Object.fromEntries(calling.map(([timeframe, auc]) => [timeframe, auc]))).toEqual(CALLING_AUC)
  expect(calling.filter(([, , confirmed]) => !confirmed).map(([timeframe]) => timeframe)).toEqual(
    UNCONFIRMED_TIMEFRAMES,
  )
  const { clip, factors } = direction
  const most = clip * (factors.price_to_ema50.weight - factors.wick_balance.weight)
  expect(Math.round(100 / (1 + Math.exp(-most)))).toBe(HIGHEST_CONFIDENCE)
})

test('its file has a version, a checksum and a size', () => {
  expect(modelFile()).toEqual({
    modelVersion: 'barrier-6',
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    bytes: expect.any(Number),
  })
})

test.each([
  ['nothing', undefined],
  ['no numbers', {}],
  ['another threshold than calls go by', { ...data, direction: { ...data.direction, entry: 0.54 } }],
  ['a timeframe too few', { ...data, timeframes: { '1h': loadModel().timeframes['1h'] } }],
  ['a field that nobody reads', { ...data, more: 1 }],
])('a model with %s is refused', (_, broken) => {
  try {
    createModel(broken)
    expect.fail('It was taken.')
  } catch (error) {
    expect(isServiceError(error, 'config_invalid') && error.message).toMatch(
      /^The verdict model cannot be used: .*Restore the model file/s,
    )
  }
})
