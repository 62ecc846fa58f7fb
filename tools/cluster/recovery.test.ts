import { expect, test } from 'vitest'
import { longestGap, recoveryTable, successesOf } from './recovery.ts'

const stretch = { began: 200, until: 950 }

test.each<[string, readonly number[], number | undefined]>([
  ['reaches over its edges', [0, 100, 900, 1_000], 800],
  ['lies within', [190, 300, 600, 940, 990], 340],
  ['does not count what was before', [0, 180, 210, 940, 960], 730],
  ['does not count what comes later', [190, 500, 940, 960, 9_000], 440],
  ['is mostly of the next', [190, 500, 900, 9_000], 400],
  ['swallows it', [100, 9_000], 8_900],
  ['is not over', [190, 300], 650],
  ['is all of it', [100], 750],
  ['cannot be told', [], undefined],
])('a gap that %s', (_, successes, gap) => {
  expect(longestGap(successes.toReversed(), stretch)).toBe(gap)
})

test('the table has a row for each fault, and a column for each channel', () => {
  const records = {
    calls: [
      { at: 1_000, tookMs: 500, isOk: true },
      { at: 3_000, tookMs: 500, isOk: true },
      { at: 2_000, tookMs: 1, isOk: false },
    ],
    deliveries: [],
    payments: [],
    freshKeys: [],
  } as unknown as Parameters<typeof successesOf>[1]
  const fault = { name: 'NATS is down', began: 1_600, ended: 2_600, until: 3_400 }
  const [head, , row] = recoveryTable([fault], successesOf([], records))
  expect(head).toBe(
    '| fault | its own time | calls | verdicts | outcomes | deliveries | paid calls | settlement | keys |',
  )
  expect(row).toBe('| NATS is down | 1.0 | 2.0 | – | – | – | – | – | – |')
})
