import { expect, test } from 'vitest'
import type { Exchange, Series } from '../../../contracts/domain/series.ts'
import { HOUR_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { countMonitored } from '../roles/market-health.ts'

const NOW = Date.UTC(2026, 0, 1)
const LATE_MS = 3 * MINUTE_MS
const at = (exchange: Exchange, coin: string): Series => ({ exchange, coin, timeframe: '1h' })
const series = ['A', 'B', 'C', 'D', 'E'].map((coin) => at('OKX', coin)).concat(at('HL', 'A'))

/** By coin: how old the newest bar is, and whether the history has ended. */
const BOARD: Readonly<Record<string, { readonly ageMs?: number; readonly isLive: boolean }>> = {
  A: { ageMs: HOUR_MS + LATE_MS, isLive: true },
  B: { ageMs: HOUR_MS + LATE_MS + 1, isLive: true },
  C: { ageMs: 0, isLive: true },
  D: { ageMs: 40 * HOUR_MS, isLive: false },
}
const count = (hasPresent: boolean) =>
  countMonitored(series, {
    isClosed: ({ coin }) => coin === 'C',
    entryOf(one) {
      const { [one.coin]: known } = BOARD
      if (known === undefined) return undefined
      const barClose = known.ageMs === undefined ? undefined : NOW - known.ageMs
      return { series: one, isLive: known.isLive, bars: 600, barClose, recorded: undefined }
    },
    hasPresent,
    clock: () => NOW,
    staleAfterMs: LATE_MS,
  })

test('each venue has its series counted by how they are doing', () => {
  expect(count(true)).toEqual([
    { exchange: 'OKX', monitored: 5, fresh: 1, stale: 1, closed: 1, loading: 2 },
    { exchange: 'HL', monitored: 1, fresh: 1, stale: 0, closed: 0, loading: 0 },
  ])
})

test('a market without a present has no stale ones', () => {
  expect(count(false)[0]).toMatchObject({ fresh: 2, stale: 0 })
})
