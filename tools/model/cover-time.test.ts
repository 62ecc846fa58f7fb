import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Candidate, coverTime } from './cover-time.ts'

const file = (name: string, from: number, until: number, isSpot = false): Candidate => ({
  name,
  from,
  until,
  isSpot,
  barMs: 1,
})

const parts = (files: readonly Candidate[], shortest = 1) =>
  coverTime(files, shortest).map(({ from, until, recording }) => [recording.name, from, until])

describe('time is shared out', () => {
  test('to the perpetual contract before spot, and to the longer before the shorter', () => {
    expect(parts([file('spot', 0, 100, true), file('short', 30, 50), file('long', 40, 80)])).toEqual([
      ['spot', 0, 30],
      ['short', 30, 40],
      ['long', 40, 80],
      ['spot', 80, 100],
    ])
  })

  test('in no pieces that are too short to say anything', () => {
    expect(parts([file('long', 0, 90), file('other', 50, 95)], 10)).toEqual([['long', 0, 90]])
  })

  test('once, whatever overlaps', () => {
    const candidate = fc
      .tuple(fc.nat(50), fc.integer({ min: 1, max: 50 }), fc.boolean(), fc.string())
      .map(([from, length, isSpot, name]) => file(name, from, from + length, isSpot))
    fc.assert(
      fc.property(fc.array(candidate, { maxLength: 8 }), (files) => {
        const covers = coverTime(files, 1)
        for (let at = 0; at < 100; at++) {
          const holding = files.filter(({ from, until }) => from <= at && at < until)
          const serving = covers.filter(({ from, until }) => from <= at && at < until)
          expect(serving).toHaveLength(holding.length > 0 ? 1 : 0)
          if (holding.some(({ isSpot }) => !isSpot)) expect(serving[0]?.recording.isSpot).toBe(false)
        }
      }),
    )
  })
})
