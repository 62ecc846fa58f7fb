import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type ErrorCode, isServiceError } from '../../contracts/errors.ts'
import { createModel, loadModel, verdictModelSchema } from './model.ts'

const data = verdictModelSchema.parse(
  JSON.parse(readFileSync(new URL('./models/barrier-2.json', import.meta.url), 'utf8')),
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
  expect(model.version).toBe('barrier-2')
  expect(model.provenance.series.length).toBeGreaterThan(0)
  expect(model.names.length).toBe(model.coefficients.length)
})

test('knows no side: what is even says one half at every timeframe', () => {
  const model = loadModel()
  expect(model.intercept).toBe(0)
  expect([...model.means].every((mean) => mean === 0)).toBe(true)
  for (const skill of Object.values(model.timeframes)) if (skill.skill) expect(skill.offset).toBe(0)
})

const [feature] = data.features

test.each([
  ['an unknown feature', { ...data, features: [{ ...feature, name: 'moon_phase' }] }],
  ['a feature named twice', { ...data, features: [feature, feature] }],
  ['a scale of 0', { ...data, features: [{ ...feature, scale: 0 }] }],
  ['no features', { ...data, features: [] }],
  ['a missing timeframe', { ...data, timeframes: { '1h': data.timeframes['1h'] } }],
  ['an unknown field', { ...data, bonus: 1 }],
  ['no object', null],
])('refuses a model with %s', (_, wrong) => {
  expect(codeOf(() => createModel(wrong))).toBe('config_invalid')
})

test('refuses a file that is not there', () => {
  expect(codeOf(() => loadModel('no-such-model.json'))).toBe('config_invalid')
})
