import { expect, test } from 'vitest'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { fold, given, outcomeLabelled } from '../given-events.fixture.ts'
import { trackRecord } from '../track-record/track-record.ts'
import { recordMonths } from './record-months.ts'

const START = Date.UTC(2026, 0, 31, 20)
const call = (hour: number, race: 'up' | 'down', change = {}) => {
  const barClose = START + hour * HOUR_MS
  const exitPrice = race === 'up' ? 101 : 99
  return outcomeLabelled({
    barClose,
    validUntil: barClose + 8 * HOUR_MS,
    call: 'BUY',
    race,
    exitPrice,
    ...change,
  })
}

test('calls that do not overlap are counted in the month of their bar, as the track record counts them in all', () => {
  const facts = given(
    call(0, 'up'),
    call(4, 'up'),
    call(8, 'down'),
    call(16, 'up', { call: 'HOLD' }),
    call(17, 'up', { recordedLate: true }),
    call(18, 'up'),
  )
  const rows = fold(recordMonths, facts)
  expect(rows['month/first-1/1h/2026-01']).toMatchObject({ calls: 1, wins: 1, trades: 1 })
  expect(rows['month/first-1/1h/2026-02']).toMatchObject({ calls: 2, wins: 1, trades: 2 })
  expect(fold(trackRecord, facts)['timeframe/first-1/1h']).toMatchObject({ apart: { calls: 3, wins: 2 } })
})

test('ranges are counted of every verdict in time, HOLD included, in the month of its bar', () => {
  const forecast = {
    model: 'range-1',
    volatility: 0.01,
    p10: -0.01,
    p25: -0.005,
    p50: 0,
    p75: 0.005,
    p90: 0.01,
  }
  const ended = (hour: number, closePrice: number | null, change = {}) =>
    call(hour, 'up', { call: 'HOLD', entryPrice: 100, forecast, closePrice, ...change })
  const rows = fold(
    recordMonths,
    given(
      ended(0, 100.2),
      ended(1, 100.8),
      ended(2, 102),
      ended(3, null),
      ended(3, 100, { forecast: null }),
      ended(3, 100, { recordedLate: true }),
      ended(5, 100.2, { call: 'BUY' }),
    ),
  )
  expect(rows['month/first-1/1h/2026-01']).toMatchObject({
    calls: 0,
    ranges: { forecasts: 3, within80: 2, within50: 1 },
  })
  expect(rows['month/first-1/1h/2026-02']).toMatchObject({
    calls: 1,
    ranges: { forecasts: 1, within80: 1, within50: 1 },
  })
})
