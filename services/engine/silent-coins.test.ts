import { expect, test } from 'vitest'
import type { Series } from '../../contracts/series.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import { verdictRow } from '../../contracts/verdict-row.ts'
import { randomWalk } from '../../testing/random-walk.ts'
import { SeriesEngine, type VerdictDraft } from './engine.ts'
import { silenceKey } from './gate.ts'
import { loadModel } from './model.ts'
import { createWhatIf } from './what-if.ts'

const RELEASED = loadModel()

/** The verdicts of a series on a walk that is the same for all. */
function said(coin: string, timeframe: Series['timeframe']): VerdictDraft[] {
  const engine = new SeriesEngine({ model: RELEASED })
  const slot = engine.open({ exchange: 'SIM', coin, timeframe })
  return randomWalk(10, 1_100).flatMap((bar, index) => {
    engine.push(slot, { ...bar, openTime: index * timeframeMs(timeframe) })
    const reading = engine.read(slot)
    return reading.status === 'verdict' ? [reading.verdict] : []
  })
}

const callsOf = (verdicts: readonly VerdictDraft[]) => new Set(verdicts.map(({ call }) => call))

test('a coin without shown skill answers HOLD and says so, and its forecasts go on', () => {
  const [silent, spoken] = [said('LTC', '5m'), said('BTC', '5m')]
  expect(RELEASED.silentCoins.has(silenceKey('5m', 'LTC'))).toBe(true)
  expect(callsOf(spoken)).toEqual(new Set(['BUY', 'SELL', 'HOLD']))
  expect(callsOf(silent)).toEqual(new Set(['HOLD']))
  expect(silent.map(({ probability }) => probability)).toEqual(spoken.map(({ probability }) => probability))
  expect(new Set(silent.map(({ strength }) => strength))).toEqual(new Set([0]))
  expect(silent.at(-1)?.reasoning).toMatch(
    /^HOLD, because no skill was shown for LTC at 5m: its forecasts had an AUC of 0\.507 \[0\.497, 0\.517\], and 0\.5 is chance\.$/,
  )
})

test('the same coin makes calls at a timeframe where its skill was shown, and so does one that nobody recorded', () => {
  expect(callsOf(said('LTC', '1h'))).toEqual(callsOf(said('BTC', '1h')))
  expect(callsOf(said('NEVERSEEN', '5m')).size).toBe(3)
})

test('another model’s verdicts beside recorded ones know of its silent coins', () => {
  const rows = said('LTC', '5m').map((verdict) =>
    verdictRow({ ...verdict, verdictId: 'x', previous: null, recordedLate: false }, '1', ''),
  )
  const calls = (model: typeof RELEASED) =>
    new Set(rows.map(createWhatIf(model)).map((one) => (one.kind === 'said' ? one.call : one.kind)))
  expect(calls(RELEASED)).toEqual(new Set(['HOLD']))
  expect(calls({ ...RELEASED, silentCoins: new Map() }).size).toBeGreaterThan(2)
})
