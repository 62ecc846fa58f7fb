import fc from 'fast-check'
import { expect, test } from 'vitest'
import { retryAfterMs } from './retry-after.ts'

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0)
const MOST = 345_600_000

test.each([
  ['0', 0],
  ['120', 120_000],
  [' 7 ', 7_000],
  ['99999999999999999999', MOST],
  ['9'.repeat(400), MOST],
  ['Sat, 21 Nov 2026 12:00:30 GMT', 30_000],
  ['Sat, 21 Nov 2026 11:59:00 GMT', 0],
  ['Fri, 31 Dec 9999 23:59:59 GMT', MOST],
])('%j is %d ms', (value, expected) => expect(retryAfterMs(value, NOW, MOST)).toBe(expected))

test.each([
  undefined,
  '',
  '-1',
  '1.5',
  '1e3',
  '0x10',
  'soon',
  '2026-11-21T12:00:30Z',
  'Sat, 21 Nov 2026 12:00:30',
  'Sat, 99 Nov 2026 99:00:30 GMT',
  ['1', '2'],
])('%j says nothing', (value) => expect(retryAfterMs(value, NOW, MOST)).toBeUndefined())

test('whatever it says, the wait is bounded', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.nat().map(String),
        fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
      ),
      (value) => {
        const waitMs = retryAfterMs(value, NOW, MOST)
        expect(waitMs === undefined || (waitMs >= 0 && waitMs <= MOST)).toBe(true)
      },
    ),
  )
})
