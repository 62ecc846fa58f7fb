import { beforeEach, describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../contracts/domain/verdict.fixture.ts'
import type { Verdict } from '../../contracts/domain/verdict.ts'
import type { MarketKind } from '../../contracts/events/event-catalogue.ts'
import { type Board, type BoardQuery, createBoard } from './board.ts'

const T0 = Date.UTC(2026, 0, 1)
let verdicts: Verdict[]
let clock: { market: number; wall: number; reads: number }
beforeEach(() => {
  verdicts = []
  clock = { market: T0, wall: 0, reads: 0 }
})

const boardOf = (market: MarketKind): Board =>
  createBoard({
    market,
    newest() {
      clock.reads += 1
      return verdicts
    },
    decided: () => undefined,
    marketNow: () => clock.market,
    staleAfterMs: 60_000,
    now: () => clock.wall,
  })
const read = (board: Board, query: Partial<BoardQuery> = {}) =>
  board.read({ skip: 0, limit: 10, ...query }).answer
const at = (barClose: number, change: Partial<Verdict> = {}): Verdict =>
  aVerdict({ barClose, validUntil: barClose + 8 * HOUR_MS, ...change })

describe('what is shown', () => {
  test('of a live market a verdict from the instant its window closes, its regime at once; of others both at once', () => {
    verdicts = [at(T0, { call: 'BUY', regime: 'VOLATILE' })]
    const live = boardOf('live')
    expect(read(live).rows).toMatchObject([{ verdict: null, regime: 'VOLATILE' }])
    expect(JSON.stringify(read(live))).not.toContain('BUY":1')
    for (const market of ['simulated', 'recorded'] as const) {
      expect(read(boardOf(market)).rows).toMatchObject([{ verdict: { call: 'BUY', is_open: true } }])
    }
    clock = { ...clock, market: T0 + 8 * HOUR_MS - 1, wall: 1_000 }
    expect(read(live).rows).toMatchObject([{ verdict: null }])
    clock = { ...clock, market: T0 + 8 * HOUR_MS, wall: 2_000 }
    expect(read(live).rows).toMatchObject([{ verdict: { call: 'BUY', is_open: false } }])
  })

  test('calls first, the most confident before others, and in pages', () => {
    verdicts = [
      at(T0, { coin: 'AAA' }),
      at(T0, { coin: 'CCC', call: 'SELL', confidence: 53 }),
      at(T0, { coin: 'BBB', call: 'BUY', confidence: 55 }),
    ]
    const board = boardOf('simulated')
    const first = read(board, { limit: 2 })
    expect(first.rows.map(({ coin }) => coin)).toEqual(['BBB', 'CCC'])
    expect(first).toMatchObject({ series: 3, matching: 3, calls: { BUY: 1, SELL: 1, HOLD: 1 }, next: '2' })
    expect(read(board, { skip: 2 })).toMatchObject({ rows: [{ coin: 'AAA' }], next: null })
    expect(read(board, { call: 'SELL' })).toMatchObject({ rows: [{ coin: 'CCC' }], matching: 1, series: 3 })
  })

  test('a series is fresh for as long as its next bar may take', () => {
    verdicts = [at(T0)]
    const board = boardOf('simulated')
    clock.market = T0 + HOUR_MS + 60_000
    expect(read(board).rows).toMatchObject([{ is_fresh: true }])
    clock = { ...clock, market: clock.market + 1, wall: 1_000 }
    expect(read(board).rows).toMatchObject([{ is_fresh: false }])
  })
})

test('many who look cost one reading in a second, and the version tells whether anything is new', () => {
  verdicts = [at(T0)]
  const board = boardOf('simulated')
  const versionOf = () => board.read({ skip: 0, limit: 1 }).version
  const first = versionOf()
  for (let n = 0; n < 100; n++) expect(versionOf()).toBe(first)
  expect(clock.reads).toBe(1)
  clock.wall = 1_000
  expect(versionOf()).toBe(first)
  verdicts = [at(T0 + HOUR_MS)]
  clock.wall = 2_000
  expect(versionOf()).toBe(first + 1)
  expect(clock.reads).toBe(3)
})
