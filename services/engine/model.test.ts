import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type ErrorCode, isServiceError } from '../../contracts/errors.ts'
import { createModel, loadModel, verdictModelSchema } from './model.ts'

const data = verdictModelSchema.parse(
  JSON.parse(readFileSync(new URL('./models/first-1.json', import.meta.url), 'utf8')),
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
  expect(model.version).toBe('first-1')
  expect(model.provenance).toContain('before 2023-01-01')
  expect(model.names.length).toBe(model.coefficients.length)
})

test('claims skill only where the measured interval lies above a coin', () => {
  for (const skill of Object.values(data.timeframes)) {
    if (!skill.skill) continue
    expect(skill.measured.auc - skill.measured.aucMargin).toBeGreaterThan(0.5)
    expect(skill.measured.brier).toBeLessThan(0.25)
  }
  expect(data.timeframes['1h'].skill).toBe(true)
  expect(data.timeframes['1d'].skill).toBe(false)
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
