import { expect, test } from 'vitest'
import type { Outcome } from '../../contracts/outcome.ts'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import type { Verdict } from '../../contracts/verdict.ts'
import { challengerVerdict, type Fact, fold, given, outcomeLabelled } from '../given-events.fixture.ts'
import { type TrackRecord, timeframeRecordKey, trackRecord } from '../track-record/track-record.ts'
import { challengers, pairedKey } from './challengers.ts'

const BAR = Date.UTC(2025, 0, 1)
const at = (bar: number) => ({ barClose: BAR + bar * HOUR_MS, validUntil: BAR + (bar + 8) * HOUR_MS })

const said = (bar: number, change: Partial<Verdict> = {}): Fact =>
  challengerVerdict({ ...at(bar), ...change })
const ended = (bar: number, race: Outcome['race'], change: Partial<Outcome> = {}): Fact =>
  outcomeLabelled({ ...at(bar), race, probability: 0.5, exitPrice: 100, ...change })

const paired = (...facts: Fact[]) => fold(challengers, given(...facts))[pairedKey('second-1', '1h')]

test('given verdicts of a challenger and the races that were spoken of, they count as if it had spoken', () => {
  const facts = [
    said(0, { call: 'BUY', probability: 0.55 }),
    said(1, { call: 'SELL', probability: 0.45 }),
    ended(0, 'up'),
    said(2, { call: 'HOLD', probability: 0.51 }),
    ended(1, 'up'),
    ended(2, 'timeout'),
  ]
  const rows = fold(challengers, given(...facts))
  const asSpoken = fold(
    trackRecord,
    given(
      ended(0, 'up', { modelVersion: 'second-1', call: 'BUY', probability: 0.55 }),
      ended(1, 'up', { modelVersion: 'second-1', call: 'SELL', probability: 0.45 }),
      ended(2, 'timeout', { modelVersion: 'second-1', call: 'HOLD', probability: 0.51 }),
    ),
  )
  const key = timeframeRecordKey('second-1', '1h')
  expect(rows[key]).toEqual(asSpoken[key])
  expect(rows[pairedKey('second-1', '1h')]).toMatchObject({
    races: 2,
    squares: expect.closeTo(0.45 ** 2 + 0.55 ** 2, 12),
    spokenSquares: expect.closeTo(0.5, 12),
    unscored: 0,
  })
  expect(rows[timeframeRecordKey('first-1', '1h')]).toBeUndefined()
})

test('given what foresaw nothing, or has no race of its own, it is counted as unscored and nothing else', () => {
  expect(paired(said(0, { recordedLate: true }))).toMatchObject({ races: 0, unscored: 1 })
  expect(paired(said(0), ended(0, 'up', { recordedLate: true }))).toMatchObject({ races: 0, unscored: 1 })
  expect(paired(said(0), ended(0, 'up', { barrier: 0.5 }))).toMatchObject({ races: 0, unscored: 1 })
  expect(paired(said(0), ended(1, 'up'))).toMatchObject({ races: 0, unscored: 1 })
})

test('given a verdict that came behind the outcome of its bar, it waits for none, and is let go with the next', () => {
  const rows = fold(challengers, given(ended(0, 'up'), said(0), ended(1, 'up')))
  expect(rows[pairedKey('second-1', '1h')]).toMatchObject({ races: 0, unscored: 1 })
  expect(rows['open/SIM.BTC.1h']).toEqual({ open: [] })
})

test('given a challenger that forecasts no close, that of the spoken verdict is not counted for it', () => {
  const closed = { closesHigher: 0.53, entryPrice: 100, closePrice: 101 }
  const closesOf = (change: Partial<Verdict>) =>
    (
      fold(challengers, given(said(0, change), ended(0, 'up', closed)))[
        timeframeRecordKey('second-1', '1h')
      ] as TrackRecord
    ).closesBrier
  expect(closesOf({})).toEqual({ races: 0, squares: 0 })
  expect(closesOf({ closesHigher: 0.48 })).toEqual({ races: 1, squares: expect.closeTo(0.52 ** 2, 12) })
})
