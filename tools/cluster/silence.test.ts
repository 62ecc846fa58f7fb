import { expect, test } from 'vitest'
import { silences } from './silence.ts'

const every = (ms: number, from: number, until: number): number[] =>
  Array.from({ length: Math.ceil((until - from) / ms) }, (_, index) => from + index * ms)
const stretch = (name: string, began: number, ended: number, until: number) => ({ name, began, ended, until })
const nats = stretch('NATS is down for 8.0 s', 10_000, 18_000, 20_000)
const alone = { ...nats, until: 60_000 }
const leader = stretch('the leader of the store is lost for 9.0 s', 20_000, 30_000, 60_000)
const OVER = 60_000

test.each([
  ['all is heard', [nats, leader], every(1_000, 0, OVER), []],
  ['calls wait for the leader', [leader], [...every(500, 0, 20_000), ...every(500, 44_000, OVER)], []],
  [
    'calls wait longer than the leader is away',
    [leader],
    [...every(500, 0, 20_500), ...every(500, 46_000, OVER)],
    ['calls stayed away for 26.0 s, where 25.0 are allowed: the leader of the store is lost for 9.0 s'],
  ],
  [
    'calls wait for a bus that they do not need',
    [alone],
    [...every(500, 0, 11_000), ...every(500, 16_500, OVER)],
    ['calls stayed away for 6.0 s, where 5.0 are allowed: NATS is down for 8.0 s'],
  ],
  [
    'calls wait for followers that show late what is appended',
    [stretch('what is appended is shown late', 10_000, 40_000, OVER)],
    [9_500, ...every(500, 31_000, OVER)],
    [],
  ],
  ['two faults in one silence', [nats, leader], [11_000, ...every(500, 40_000, OVER)], []],
  [
    'nothing is heard any more',
    [alone],
    [10_500],
    ['calls stayed away for 49.5 s, where 5.0 are allowed: NATS is down for 8.0 s'],
  ],
] as const)('%s', (_, stretches, times, found) => {
  expect(silences(stretches, new Map([['calls', times]]), OVER)).toEqual(found)
})

test('two faults at a time allow what both allow, and a clock that is set more to verdicts than to calls', () => {
  const both = stretch('NATS is down for 2.0 s; and engine1 stands still for 3.0 s', 0, 3_000, OVER)
  const clock = stretch('the clock of engine1 is set by 60 s for 2.0 s', 0, 2_000, OVER)
  const late = (what: string, ms: number) => new Map([[what, every(500, ms, OVER)]])
  expect(silences([both], late('verdicts of verdict-A', 20_000), OVER)).toEqual([])
  expect(silences([both], late('verdicts of verdict-A', 20_001), OVER)).toHaveLength(1)
  expect(silences([clock], late('verdicts of verdict-A', 50_000), OVER)).toEqual([])
  expect(silences([clock], late('calls', 50_000), OVER)).toHaveLength(1)
})
