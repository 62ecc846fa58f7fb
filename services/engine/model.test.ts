import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type ErrorCode, isServiceError } from '../../contracts/errors.ts'
import { TIMEFRAMES, type Timeframe } from '../../contracts/timeframes.ts'
import { createModel, keptModelFile, loadModel, verdictModelSchema } from './model.ts'

const data = verdictModelSchema.parse(
  JSON.parse(readFileSync(new URL('./models/barrier-5.json', import.meta.url), 'utf8')),
)

const codeOf = (action: () => unknown): ErrorCode | undefined => {
  try {
    action()
  } catch (error) {
    if (isServiceError(error)) return error.code
    throw error
  }
  return undefined
}

test('the model of this release loads and says where it comes from', () => {
  const model = loadModel()
  expect(model.version).toBe('barrier-5')
  expect(model.provenance.series.length).toBeGreaterThan(0)
  expect(model.weights.length).toBe(TIMEFRAMES.length * model.names.length)
})

test('takes a side by its offset alone, and only up to 1h', () => {
  const offsetOf = (timeframe: Timeframe): number | undefined => {
    const skill = loadModel().timeframes[timeframe]
    return skill.skill ? skill.offset : undefined
  }
  for (const timeframe of ['3m', '5m', '15m', '30m', '1h'] as const)
    expect(offsetOf(timeframe)).toBeLessThan(0)
  const former = loadModel(keptModelFile('barrier-4'))
  for (const timeframe of TIMEFRAMES) {
    const skill = former.timeframes[timeframe]
    if (skill.skill) expect(skill.offset).toBe(0)
    expect(former.timeframes[timeframe].skill).toBe(loadModel().timeframes[timeframe].skill)
  }
})

const spoken = data.timeframes['1h']

test.each([
  ['an unknown feature', { ...data, features: ['moon_phase'] }],
  ['a feature named twice', { ...data, features: data.features.map(() => data.features[0]) }],
  ['fewer features than coefficients', { ...data, features: data.features.slice(1) }],
  [
    'a scale of 0',
    { ...data, timeframes: { ...data.timeframes, '1h': { ...spoken, scales: data.features.map(() => 0) } } },
  ],
  [
    'a second forecast of fewer features',
    {
      ...data,
      timeframes: {
        ...data.timeframes,
        '1h': { ...spoken, closes: { ...spoken.closes, coefficients: [0.1] } },
      },
    },
  ],
  ['no features', { ...data, features: [] }],
  ['a missing timeframe', { ...data, timeframes: { '1h': spoken } }],
  ['an unknown field', { ...data, bonus: 1 }],
  ['ranges that this release does not have', { ...data, ranges: 'range-0' }],
  ['half a rule of the regime', { ...data, regime: { trendEntry: 1 } }],
  ['no object', null],
])('refuses a model with %s', (_, wrong) => {
  expect(codeOf(() => createModel(wrong))).toBe('config_invalid')
})

test('a model of a former release, which forecasts races alone, loads as it is', () => {
  const timeframes = Object.fromEntries(
    Object.entries(data.timeframes).map(([timeframe, { closes: _later, ...races }]) => [timeframe, races]),
  )
  const former = createModel({ ...data, version: 'barrier-3', timeframes })
  expect(former.weights).toEqual(loadModel().weights)
  expect(former.timeframes['1h'].closes).toBeUndefined()
})

test('says of a file of another schema that it is to be fitted again', () => {
  const { schema: _, ...older } = data
  expect(() => createModel(older)).toThrow('of another schema than 2')
  expect(() => createModel({ ...data, schema: 3 })).toThrow('of another schema than 2')
})

test('refuses a file that is not there', () => {
  expect(codeOf(() => loadModel('no-such-model.json'))).toBe('config_invalid')
})
