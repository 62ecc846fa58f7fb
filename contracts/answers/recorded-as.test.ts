import { expect, test } from 'vitest'
import { aVerdict } from '../domain/verdict.fixture.ts'
import { recordedAs, recordedNote } from './recorded-as.ts'

const BAR_CLOSE = Date.UTC(2026, 0, 5)
const HOUR_MS = 3_600_000
const verdict = (recordedLate = false) =>
  aVerdict({ timeframe: '1h', barClose: BAR_CLOSE, validUntil: BAR_CLOSE + 8 * HOUR_MS, recordedLate })
const after = (hours: number): string => new Date(BAR_CLOSE + hours * HOUR_MS).toISOString()

test.each([
  [0.01, false, 'live', null],
  // A market that runs ahead of the clock of the machine.
  [-500, false, 'live', null],
  [
    1,
    false,
    'backfill',
    'Recorded 60 minutes after its bar closed, within its window: the past of the simulated market',
  ],
  [
    8 + 12 * 24,
    false,
    'backfill',
    'Recorded 12 days after its window closed: the past of the simulated market',
  ],
  [
    3,
    true,
    'late',
    'Recorded 3 hours after its bar closed, within its window: the service was stopped or behind.',
  ],
  [10, true, 'late', 'Recorded 2 hours after its window closed: the service was stopped or behind.'],
])('a verdict that is recorded %d h after its bar, late: %s, is %s', (hours, isLate, as, note) => {
  expect(recordedAs(verdict(isLate), after(hours))).toBe(as)
  const said = recordedNote(verdict(isLate), after(hours), 'simulated')
  expect(said?.slice(0, note?.length) ?? null).toBe(note)
})

test.each([
  ['recorded', 'it was computed in a replay of recorded prices'],
  ['live', 'its bar was read from the history of the exchange'],
] as const)('of a %s market it says why', (market, why) => {
  expect(recordedNote(verdict(), after(9), market)).toContain(why)
})
