import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { archivedMark, blocksOf, isArchivedData, packBlock, unpackBlock } from './archive-block.ts'
import { isErasedData } from './erase-stream.ts'
import { rowsOf, type StoredRow, textOf } from './stored-row.ts'

/** Rows as a log has them, at rising positions: names without blanks, data and meta in JSON. */
const someRows: fc.Arbitrary<StoredRow[]> = fc
  .array(
    fc.record({
      gap: fc.integer({ min: 1, max: 1_000 }),
      revision: fc.nat(),
      id: fc.uuid(),
      data: fc.json(),
      meta: fc.json(),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .map((drawn) => {
    let position = 0
    return drawn.map(({ gap, revision, id, data, meta }): StoredRow => {
      position += gap
      const at = '2026-11-23T06:00:00.000Z'
      return [position, 'verdict-SIM.BTC.1m', revision, 'VerdictRecorded', 3, id, at, data, meta]
    })
  })

describe('a block', () => {
  test('gives back every row, byte for byte, by its position', () => {
    fc.assert(
      fc.property(someRows, (rows) => {
        const { body, sha256 } = packBlock(rows)
        const lines = unpackBlock(body, sha256)
        expect([...lines.keys()]).toEqual(rows.map(([position]) => position))
        expect(rowsOf([...lines.values()].join(''))).toEqual(rows)
      }),
    )
  })

  test('with any byte changed, left out or added is refused', () => {
    fc.assert(
      fc.property(someRows, fc.nat(), fc.integer({ min: 1, max: 255 }), (rows, at, difference) => {
        const { body, sha256 } = packBlock(rows)
        const place = at % body.length
        const changed = Buffer.from(body)
        changed[place] = (changed[place] ?? 0) ^ difference
        for (const other of [changed, body.subarray(0, place), Buffer.concat([body, Buffer.of(difference)])])
          expect(() => unpackBlock(other, sha256)).toThrow('its SHA-256 is')
      }),
    )
  })

  test('is as large as it may be, and takes at least one event', () => {
    fc.assert(
      fc.property(someRows, fc.integer({ min: 1, max: 3_000 }), (rows, most) => {
        const blocks = [...blocksOf(rows, most)]
        expect(blocks.flat()).toEqual(rows)
        const size = (some: readonly StoredRow[]): number => Buffer.byteLength(textOf(some))
        for (const [index, block] of blocks.entries()) {
          expect(block.length === 1 || size(block) <= most).toBe(true)
          const next = blocks[index + 1]?.[0]
          if (next !== undefined) expect(size([...block, next])).toBeGreaterThan(most)
        }
      }),
    )
  })
})

describe('what is kept in place of data', () => {
  test('is the same for the same data only, and neither data nor what erasing leaves', () => {
    fc.assert(
      fc.property(fc.json(), fc.json(), (one, other) => {
        expect(archivedMark(one) === archivedMark(other)).toBe(one === other)
        expect([
          isArchivedData(archivedMark(one)),
          isArchivedData(one),
          isArchivedData(' '.repeat(9)),
        ]).toEqual([true, false, false])
        expect(isErasedData(archivedMark(one))).toBe(false)
      }),
    )
  })
})
