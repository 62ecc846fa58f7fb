import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { comparePositions, earlier, isPosition, later, type Position, START } from './position.ts'

const aNumber = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.bigInt({ min: 0n, max: 12n }),
  fc.constantFrom(9n, 10n, 99n, 100n, 2n ** 53n, 2n ** 63n),
)

/** Positions of one kind with the numbers they stand for. */
const KINDS = {
  'one number': aNumber.map((number) => ({ position: String(number), parts: [number, 0n] as const })),
  'commit/prepare': fc
    .tuple(aNumber, aNumber)
    .map((parts) => ({ position: parts.join('/'), parts: [parts[0], parts[1]] as const })),
}

describe.each(Object.entries(KINDS))('positions of the kind %s', (_, aPlace) => {
  const aPosition: fc.Arbitrary<Position> = fc.oneof(
    fc.constant(START),
    aPlace.map((place) => place.position),
  )

  test('of two, one is the earlier and the other the later', () => {
    fc.assert(
      fc.property(aPosition, aPosition, (a, b) => {
        expect([earlier(a, b), later(a, b)]).toEqual([a, b].toSorted(comparePositions))
      }),
    )
  })

  test('come in the order of their numbers', () => {
    fc.assert(
      fc.property(aPlace, aPlace, (a, b) => {
        const byCommit = Number(a.parts[0] > b.parts[0]) - Number(a.parts[0] < b.parts[0])
        const byPrepare = Number(a.parts[1] > b.parts[1]) - Number(a.parts[1] < b.parts[1])
        expect(Math.sign(comparePositions(a.position, b.position))).toBe(byCommit || byPrepare)
      }),
      { numRuns: 1_000 },
    )
  })

  test('are in a total order', () => {
    fc.assert(
      fc.property(aPosition, aPosition, aPosition, (a, b, c) => {
        expect(Math.sign(comparePositions(a, b))).toBe(0 - Math.sign(comparePositions(b, a)))
        expect(comparePositions(a, b) === 0).toBe(a === b)
        const [low = '', middle = '', high = ''] = [a, b, c].toSorted(comparePositions)
        expect(comparePositions(low, middle)).toBeLessThanOrEqual(0)
        expect(comparePositions(low, high)).toBeLessThanOrEqual(0)
        expect(comparePositions(middle, high)).toBeLessThanOrEqual(0)
      }),
      { numRuns: 1_000 },
    )
  })

  test('are positions, and come after the start', () => {
    fc.assert(
      fc.property(aPlace, ({ position }) => {
        expect(isPosition(position)).toBe(true)
        expect(comparePositions(START, position)).toBeLessThan(0)
        expect(comparePositions(position, START)).toBeGreaterThan(0)
      }),
    )
  })
})

test('the start is a position, and the same as itself', () => {
  expect(isPosition(START)).toBe(true)
  expect(comparePositions(START, START)).toBe(0)
})

test.each([
  '',
  ' ',
  '1 ',
  ' 1',
  '1\n',
  '-1',
  '+1',
  '1.5',
  '1e3',
  '0x1',
  '1_000',
  '١',
  'Start',
  'start/1',
  'end',
])('%j is not a position', (text) => {
  expect(isPosition(text)).toBe(false)
})

test.each(['/', '1/', '/1', '1//2', '1/2/3', '1/-2', '1/start', '9'.repeat(21)])(
  '%j is not a position of two numbers',
  (text) => {
    expect(isPosition(text)).toBe(false)
  },
)

test.each(['01', '00', '007/1', '1/007'])(
  '%j is not a position: with leading zeros, the same place would have two texts',
  (text) => {
    expect(isPosition(text)).toBe(false)
  },
)
