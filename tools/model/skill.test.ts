import { expect, test } from 'vitest'
import { loadModel } from '../../services/engine/model.ts'
import { lackOfSkill } from './skill.ts'

const { measured } = loadModel().timeframes['1h']
if (measured === undefined) throw new Error('the model has no scores at 1h')

test('a timeframe that passes everything speaks', () => {
  expect(lackOfSkill('1h', measured)).toBeUndefined()
})

test('the same scores from less than half a year of observed days say nothing', () => {
  expect(lackOfSkill('1h', { ...measured, observedDays: 179 })).toContain('only 179 days')
  expect(lackOfSkill('1h', { ...measured, observedDays: 180 })).toBeUndefined()
})

const { winRates } = measured
if (winRates === null) throw new Error('the model has no win rates at 1h')

test.each([
  ['whose AUC may be a coin’s', { auc: { value: 0.52, low: 0.499, high: 0.541 } }, "may be a coin's"],
  ['that moved outcomes reach too', { placeboAuc: { value: 0.6, low: 0.59, high: 0.61 } }, 'moved outcomes'],
  [
    'whose spoken forecasts are no better than one half',
    { brierSpoken: { value: 0.25, low: 0.24, high: 0.26 } },
    'Brier',
  ],
  ['that never spoke', { winRates: null }, 'never spoke'],
  [
    'whose wins may be a constant’s',
    { winRates: { ...winRates, calledByBlocks: { value: 0.55, low: winRates.alwaysSell.value, high: 0.6 } } },
    'the best constant call',
  ],
  [
    'whose skill has passed',
    { newestYearAuc: { value: 0.52, low: 0.5, high: 0.54 } },
    "over the newest 365 days an AUC of 0.520 [0.500, 0.540] may be a coin's",
  ],
  ['whose newest year nobody scored', { newestYearAuc: null }, 'no race was decided'],
])('a timeframe %s holds', (_, change, words) => {
  expect(lackOfSkill('1h', { ...measured, ...change })).toContain(words)
})
