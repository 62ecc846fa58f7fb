import { expect, test } from 'vitest'
import { DAY_MS } from '../../contracts/timeframes.ts'
import { loadModel } from '../../services/engine/model.ts'
import { lackOfSkill } from './skill.ts'

const { measured } = loadModel().timeframes['1h']
if (measured === undefined) throw new Error('the model has no scores at 1h')

test('a timeframe that passes everything speaks', () => {
  expect(lackOfSkill('1h', measured)).toBeUndefined()
})

test('the same scores from less than half a year say nothing', () => {
  const brief = { ...measured, to: measured.from + 179 * DAY_MS }
  expect(lackOfSkill('1h', brief)).toContain('only 179 days')
  expect(lackOfSkill('1h', { ...brief, to: measured.from + 180 * DAY_MS })).toBeUndefined()
})

test.each([
  ['whose AUC may be a coin’s', { auc: { value: 0.52, low: 0.499, high: 0.541 } }, "may be a coin's"],
  ['that moved outcomes reach too', { placeboAuc: { value: 0.6, low: 0.59, high: 0.61 } }, 'moved outcomes'],
  ['whose forecasts are no better than one half', { brier: { value: 0.25, low: 0.24, high: 0.26 } }, 'Brier'],
  ['that never spoke', { winRates: null }, 'never spoke'],
])('a timeframe %s holds', (_, change, words) => {
  expect(lackOfSkill('1h', { ...measured, ...change })).toContain(words)
})
