import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CADENCES } from '../../../contracts/domain/subscription.ts'
import { dueDigests, wantedScans } from './digest-recorder.ts'

const ALL = { cadences: CADENCES }
const DAY = Date.UTC(2025, 0, 2)
const at = (hours: number, seconds = 0): number => DAY + hours * 3_600_000 + seconds * 1_000

describe('what is due', () => {
  test('is the running period of every cadence, once its verdicts had time to be there', () => {
    expect(dueDigests(ALL, new Map(), at(5, 20), 20_000)).toEqual([
      { cadence: '1h', boundary: at(5) },
      { cadence: '4h', boundary: at(4) },
      { cadence: '1d', boundary: DAY },
    ])
    expect(dueDigests(ALL, new Map(), at(24, 19), 20_000)).toEqual([
      { cadence: '1h', boundary: at(23) },
      { cadence: '4h', boundary: at(20) },
      { cadence: '1d', boundary: DAY },
    ])
  })

  test('is not what is recorded, nor anything older than that', () => {
    const newest = new Map([
      ['1h', at(5)],
      ['4h', at(8)],
      ['1d', DAY - 86_400_000],
    ] as const)
    expect(dueDigests(ALL, newest, at(5, 30), 20_000)).toEqual([{ cadence: '1d', boundary: DAY }])
  })

  test('is at no time more than the newest period, aligned to UTC, and never one that lies ahead', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000_000_000_000, max: 2_000_000_000_000 }),
        fc.nat(60_000),
        (now, settleMs) => {
          const lengths = { '1h': 3_600_000, '4h': 14_400_000, '1d': 86_400_000 }
          const due = dueDigests(ALL, new Map(), now, settleMs)
          expect(due.map(({ cadence }) => cadence)).toEqual(CADENCES)
          for (const { cadence, boundary } of due) {
            expect(boundary % lengths[cadence]).toBe(0)
            expect(boundary + settleMs).toBeLessThanOrEqual(now)
            expect(boundary + settleMs + lengths[cadence]).toBeGreaterThan(now)
          }
          expect(
            dueDigests(ALL, new Map(due.map((one) => [one.cadence, one.boundary])), now, settleMs),
          ).toEqual([])
        },
      ),
    )
  })
})

test('one scan serves all that is wanted of an exchange and timeframe', () => {
  const wanted = [
    { exchange: 'HL', timeframe: '1h', cadence: '1d' },
    { exchange: 'HL', timeframe: '15m', cadence: '1h' },
    { exchange: 'HL', timeframe: '1h', cadence: '1h' },
    { exchange: 'HL', timeframe: '1h', cadence: '1d' },
    { exchange: 'SIM', timeframe: '1h', cadence: '4h' },
  ] as const
  expect(wantedScans(wanted)).toEqual([
    { exchange: 'HL', timeframe: '1h', cadences: ['1h', '1d'] },
    { exchange: 'HL', timeframe: '15m', cadences: ['1h'] },
    { exchange: 'SIM', timeframe: '1h', cadences: ['4h'] },
  ])
})
