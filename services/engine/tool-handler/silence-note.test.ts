import { expect, test } from 'vitest'
import { TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import { loadModel, type TimeframeSkill } from '../model/verdict-model.ts'
import { silenceNote } from './scan-calls.ts'

const silent = (reason: string): TimeframeSkill => ({
  inner: 1,
  outer: 1,
  deviation: 1,
  calls: false,
  reason,
})
const all = (skill: TimeframeSkill) =>
  Object.fromEntries(TIMEFRAMES.map((timeframe) => [timeframe, skill])) as ReturnType<
    typeof loadModel
  >['timeframes']

test('says why nothing is called at a timeframe, and at which others something is', () => {
  const spoken = loadModel().timeframes['1h']
  const timeframes = { ...all(silent('it was a coin toss')), '1h': spoken, '4h': spoken }
  expect(silenceNote({ timeframes }, '15m')).toBe(
    'No call is made at 15m: it was a coin toss. Calls are made at 1h, 4h.',
  )
  expect(silenceNote({ timeframes }, '1h')).toBeNull()
})

test('of a model that is silent everywhere promises nothing elsewhere', () => {
  expect(silenceNote({ timeframes: all(silent('x')) }, '1h')).toContain('None is made at any other')
})
