import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { START } from '../../contracts/position.ts'
import { AT_START, createLook, formatCursor, parseCursor, type ReplayCursor } from './replay-cursor.ts'

interface Logged {
  readonly position: string
  readonly validUntil: number
}

/** One request: everything to show as of `now`, at most `limit` rows. */
function request(log: readonly Logged[], from: ReplayCursor, now: number, limit: number) {
  const shown: Logged[] = []
  let cursor = from
  for (let start: ReplayCursor | undefined = from; start !== undefined; ) {
    const look = createLook(start, now)
    for (const event of log.slice(look.readAfter === START ? 0 : Number(look.readAfter))) {
      const next = look.offer(event.position, event.validUntil)
      if (look.isHeldUp()) return { shown, cursor }
      if (next === undefined) continue
      shown.push(event)
      cursor = next
      if (shown.length === limit) return { shown, cursor }
    }
    start = start.second === undefined ? undefined : look.end()
  }
  return { shown, cursor }
}

describe('replay cursor', () => {
  test('over any requests, every verdict is shown exactly once, and never before its window has closed', () => {
    const look = fc.record({ step: fc.nat(8), appended: fc.nat(6), limit: fc.integer({ min: 1, max: 5 }) })
    fc.assert(
      fc.property(
        fc.array(fc.nat(30), { maxLength: 40 }),
        fc.array(look, { maxLength: 30 }),
        (windows, looks) => {
          const log: Logged[] = []
          const shown: string[] = []
          let cursor = AT_START
          let now = 1
          const ask = (limit: number): number => {
            const answer = request(log, cursor, now, limit)
            for (const event of answer.shown) expect(event.validUntil).toBeLessThanOrEqual(now)
            shown.push(...answer.shown.map((event) => event.position))
            const text = formatCursor(answer.cursor)
            cursor = parseCursor(text) as ReplayCursor
            expect(formatCursor(cursor)).toBe(text)
            return answer.shown.length
          }
          let next = 0
          const append = (count: number): void => {
            for (const window of windows.slice(next, next + count)) {
              log.push({ position: String(log.length + 1), validUntil: now + window })
            }
            next += count
          }
          for (const { step, appended, limit } of looks) {
            append(appended)
            now += step
            ask(limit)
          }
          append(windows.length)
          now += 1_000
          ask(1_000)
          expect(shown.toSorted((a, b) => Number(a) - Number(b))).toEqual(log.map((event) => event.position))
        },
      ),
      { numRuns: 2_000 },
    )
  })

  test('over requests to processes whose clocks differ, no verdict is shown twice, lost or early', () => {
    const look = fc.record({
      step: fc.nat(8),
      appended: fc.nat(6),
      limit: fc.integer({ min: 1, max: 5 }),
      behind: fc.nat(12),
    })
    fc.assert(
      fc.property(
        fc.array(fc.nat(30), { maxLength: 40 }),
        fc.array(look, { maxLength: 30 }),
        (windows, looks) => {
          const log: Logged[] = []
          const shown: string[] = []
          let cursor = AT_START
          let now = 12
          let next = 0
          const ask = (clock: number, limit: number): void => {
            const answer = request(log, cursor, clock, limit)
            for (const event of answer.shown) expect(event.validUntil).toBeLessThanOrEqual(clock)
            shown.push(...answer.shown.map((event) => event.position))
            cursor = parseCursor(formatCursor(answer.cursor)) as ReplayCursor
          }
          for (const { step, appended, limit, behind } of looks) {
            for (const window of windows.slice(next, (next += appended))) {
              log.push({ position: String(log.length + 1), validUntil: now + window - 6 })
            }
            now += step
            ask(now - behind, limit)
          }
          ask(now + 1_000, 1_000)
          expect(shown.toSorted((a, b) => Number(a) - Number(b))).toEqual(log.map((event) => event.position))
        },
      ),
      { numRuns: 2_000 },
    )
  })

  test('a clock that is behind holds up only from the first verdict on which the clocks differ', () => {
    const windows = [100, 110, 99, 101, 98]
    const log = windows.map((validUntil, index) => ({ position: String(index + 1), validUntil }))
    const ahead = request(log.slice(0, 2), AT_START, 102, 9)
    const behind = request(log, ahead.cursor, 100, 9)
    expect(behind.shown.map(({ position }) => position)).toEqual(['3'])
    const caughtUp = request(log, behind.cursor, 102, 9)
    expect(caughtUp.shown.map(({ position }) => position)).toEqual(['4', '5'])
  })

  test('a forged cursor shows nothing whose window is open', () => {
    const log = [{ position: '1', validUntil: 500 }]
    for (const text of ['start', '0~0~999', '1~start~0~start~999999', 'start~start~0~0~99999']) {
      const cursor = parseCursor(text)
      expect(cursor, text).toBeDefined()
      expect(request(log, cursor ?? AT_START, 499, 10).shown, text).toEqual([])
    }
  })

  test('an operator sees everything, and resumes by a bare position too', () => {
    const log = [1, 2, 3].map((n) => ({ position: String(n), validUntil: 10 ** 12 * n }))
    const first = request(log, AT_START, Number.POSITIVE_INFINITY, 2)
    expect(formatCursor(first.cursor)).toBe('2~2~0')
    expect(parseCursor('2')).toEqual(parseCursor('2~2~0'))
    expect(request(log, first.cursor, Number.POSITIVE_INFINITY, 9).shown).toEqual(log.slice(2))
  })

  test.each(['', '~', 'x', '1~', '1~2~0', '1~0', '5~1~x', '5~1~3~', '5~1~3~x~4', '9'.repeat(30)])(
    'refuses %j',
    (text) => {
      expect(parseCursor(text)).toBeUndefined()
    },
  )
})
