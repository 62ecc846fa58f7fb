import { expect, test } from 'vitest'
import { LogEndLost, MarketClockRun } from '../../contracts/event-catalogue.ts'
import { newEvent } from '../../contracts/event-definition.ts'
import { isoTime } from '../../contracts/iso-time.ts'
import { SpeechRestored, SpeechWithdrawn } from '../../contracts/model-events.ts'
import { MARKET_RUNS_STREAM, STORE_LOSSES_STREAM } from '../../contracts/streams.ts'
import { DAY_MS, HOUR_MS } from '../../contracts/timeframes.ts'
import { aVerdict } from '../../contracts/verdict.fixture.ts'
import { type Fact, fold, given, nextFactId, speechFact, verdictsMissing } from '../given-events.fixture.ts'
import { type GapsRow, gapsKey, type IncidentsRow, incidentsKey, losses } from './losses.ts'

const META = { correlationId: 'test', actor: 'test' }
const gaps = (...facts: Fact[]) => fold(losses, given(...facts))[gapsKey(aVerdict().exchange)] as GapsRow

test('bars without a verdict are counted by reason and by the day of their close', () => {
  const row = gaps(verdictsMissing('no_engine', 30), verdictsMissing('no_bars', 1, 'ETH'))
  expect(row.reasons).toEqual({ no_engine: 30, no_bars: 1 })
  expect([row.bars, row.days.reduce((sum, { bars }) => sum + bars, 0)]).toEqual([31, 31])
  const last = new Date(aVerdict().barClose).toISOString().slice(0, 10)
  expect(row.days[0]?.date).toBe(last)
  // Thirty bars of an hour, and one of another series at the same time.
  expect([row.series_hours, row.longest.hours]).toEqual([31, 30])
  expect(Date.parse(row.longest.to) - Date.parse(row.longest.from)).toBe(30 * HOUR_MS)
  expect(row.days.length).toBeGreaterThan(1)
})

test('a gap of years is counted whole, and its newest ninety days by day', () => {
  const row = gaps(verdictsMissing('no_engine', 24 * 1_000))
  expect(row.reasons).toEqual({ no_engine: 24_000 })
  expect(row.days).toHaveLength(90)
  expect(new Set(row.days.slice(1).map(({ bars }) => bars))).toEqual(new Set([24]))
})

test('the newest twenty incidents of a kind are kept, and all are counted; one kind leaves room for the others', () => {
  const run = (day: number): Fact => ({
    stream: MARKET_RUNS_STREAM,
    event: newEvent(MarketClockRun, { id: nextFactId(), data: { from: 0, to: day * DAY_MS }, meta: META }),
  })
  const lost = {
    stream: STORE_LOSSES_STREAM,
    event: newEvent(LogEndLost, {
      id: nextFactId(),
      data: { endsAt: 380, notedPosition: 590, damage: 'of /a/path' },
      meta: META,
    }),
  }
  const rows = fold(losses, given(lost, ...Array.from({ length: 25 }, (_, day) => run(day))))
  const runs = rows[incidentsKey('market_run')] as IncidentsRow
  expect([runs.count, runs.newest.length, runs.newest[0]?.to]).toEqual([25, 20, isoTime(24 * DAY_MS)])
  expect(rows[incidentsKey('log_end_lost')]).toMatchObject({ count: 1, newest: [{ events: 210 }] })
  expect(JSON.stringify(rows)).not.toContain('/a/path')
})

test('withdrawn calls end where their model makes calls again; where it never called, none were withdrawn', () => {
  const other = speechFact(SpeechWithdrawn, { timeframe: '15m' })
  const silent = speechFact(SpeechWithdrawn, { timeframe: '4h' })
  const rows = fold(
    losses,
    given(speechFact(SpeechWithdrawn), other, silent, speechFact(SpeechRestored, { from: 7 * DAY_MS })),
  )
  const { newest } = rows[incidentsKey('calls_withdrawn')] as IncidentsRow
  expect(newest).toMatchObject([
    { subject: 'first-1 15m', to: null },
    { subject: 'first-1 1h', to: isoTime(7 * DAY_MS) },
  ])
})
