import { describe, expect, test } from 'vitest'
import { trackRecordRowSchema } from '../../contracts/answers/track-record.ts'
import { type Outcome, RACE_OUTCOMES } from '../../contracts/domain/outcome.ts'
import { halfWidth95 } from '../../contracts/domain/statistics.ts'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { CALLS } from '../../contracts/domain/verdict.ts'
import { fold, given, outcomeLabelled, rangeIn } from '../../projections/given-events.fixture.ts'
import { type TrackRecord, trackRecord } from '../../projections/index.ts'
import { type TrackRecordSource, trackRecordReport, trackRecordRow } from './track-record-report.ts'

const WINDOW_MS = 8 * HOUR_MS
const BLOCK_MS = 50 * WINDOW_MS

function outcome(barClose: number, change: Partial<Outcome> = {}): Outcome {
  const exits = { up: 101, down: 99, both: null, timeout: 100, incomplete: null }
  const race = change.race ?? 'up'
  const at = { barClose, validUntil: barClose + WINDOW_MS, barrier: 0.01, entryPrice: 100 }
  return outcomeLabelled({ ...at, race, exitPrice: exits[race], ...change }).event.data as Outcome
}

function sourceOf(outcomes: readonly Outcome[]): TrackRecordSource {
  const rows = fold(trackRecord, given(...outcomes.map((one) => outcomeLabelled(one))))
  return { position: () => '17', range: rangeIn(Object.entries(rows)) }
}
const only = (outcomes: readonly Outcome[]) => {
  const [row] = trackRecordReport(sourceOf(outcomes), { groupBy: 'series', limit: 1 }).rows
  return row ?? expect.fail('There is no row.')
}

describe('a row', () => {
  test('has the published shape, whatever happened', () => {
    const outcomes = Array.from({ length: 60 }, (_, n) =>
      outcome(n * HOUR_MS, { race: RACE_OUTCOMES[n % 5] ?? 'up', call: CALLS[n % 3] ?? 'HOLD' }),
    )
    for (const some of [outcomes, outcomes.slice(0, 1), outcomes.filter(({ call }) => call === 'HOLD')]) {
      expect(trackRecordRowSchema.strict().safeParse(only(some)).error).toBeUndefined()
    }
  })

  test('gives wins with their interval, returns in basis points, and the constants beside them', () => {
    const row = only(
      Array.from({ length: 10 }, (_, n) =>
        outcome(n * WINDOW_MS, {
          call: 'BUY',
          probability: 0.6,
          race: n < 6 ? 'up' : n < 8 ? 'down' : 'both',
        }),
      ),
    )
    expect(row.non_overlapping).toMatchObject({
      calls: 10,
      reached: 10,
      wins: 6,
      trades: 10,
      blocks: 1,
      t: null,
    })
    expect(row.non_overlapping.win_rate?.value).toBeCloseTo(0.6, 12)
    expect(row.non_overlapping.win_rate?.low).toBeCloseTo(0.3127, 4)
    expect(row.non_overlapping.net_mean_bps).toBeCloseTo((6 * 100 - 4 * 100) / 10 - 12, 9)
    expect(row.baselines.always_buy.win_rate).toBeCloseTo(0.6, 12)
    expect(row.baselines.always_sell.win_rate).toBeCloseTo(0.2, 12)
    expect(row.baselines.always_sell.net_mean_bps).toBeCloseTo((-6 * 100 + 2 * 100 - 2 * 100) / 10 - 12, 9)
    expect(row.baselines.random.win_rate).toBeCloseTo(0.4, 12)
    expect(row.baselines.random.net_mean_bps).toBeCloseTo((-2 * 100) / 10 - 12, 9)
    expect(row.brier).toBeCloseTo((6 * 0.16 + 2 * 0.36) / 8, 12)
    expect(row.reliability).toEqual([
      { from: 0.6, to: 1, races: 8, non_overlapping: 8, said: expect.closeTo(0.6, 12), happened: 0.75 },
    ])
    expect(row.calibration_error).toBeCloseTo(0.15, 12)
  })

  test('gives every call by its exit, time-outs too, beside the constants: fewer are right than win', () => {
    const ends = [
      ...(['up', 'up', 'up', 'down'] as const).map((race) => ({ race })),
      ...[100.5, 99.5, 99.25, 100].map((exitPrice) => ({ race: 'timeout', exitPrice }) as const),
      ...([{ race: 'both' }, { race: 'incomplete' }] as const),
    ]
    const { non_overlapping, baselines } = only(
      ends.map((end, n) => outcome(n * WINDOW_MS, { call: 'BUY', ...end })),
    )
    expect(non_overlapping).toMatchObject({ calls: 10, trades: 9, reached: 5, timed_out: 4, wins: 3 })
    expect(non_overlapping.win_rate?.value).toBeCloseTo(3 / 5, 12)
    expect(non_overlapping.in_favour?.value).toBeCloseTo(4 / 9, 12)
    expect(non_overlapping.gross_mean_bps).toBeCloseTo((100 + 50 - 50 - 75) / 9, 9)
    expect(non_overlapping.net_mean_bps).toBeCloseTo(25 / 9 - 12, 9)
    expect(baselines.always_buy).toMatchObject({ in_favour: 4 / 9 })
    expect(baselines.always_sell).toMatchObject({ in_favour: 3 / 9 })
    expect(baselines.always_sell.gross_mean_bps).toBeCloseTo((-200 - 50 + 50 + 75 - 100) / 9, 9)
    expect(baselines.random.in_favour).toBeCloseTo(3.5 / 9, 12)
  })

  test('scores how far the price was to go, HOLDs too, where all bars of the window came', () => {
    const forecast = {
      model: 'range-1',
      volatility: 0.01,
      p10: -0.01,
      p25: -0.005,
      p50: 0,
      p75: 0.005,
      p90: 0.01,
    }
    const closes = [100, 100.5, 100.75, 99.01, 98, 103, null]
    const { ranges } = only(closes.map((closePrice, n) => outcome(n * HOUR_MS, { forecast, closePrice })))
    expect(ranges).toMatchObject({ forecasts: 6, non_overlapping: 1, coverage_50: 2 / 6 })
    expect(ranges.coverage_80?.value).toBeCloseTo(4 / 6, 12)
    expect([ranges.below, ranges.above]).toEqual([1 / 6, expect.closeTo(1 / 6, 12)])
    // Within, both ends together lose a tenth of their distance, halved; beyond, nine tenths of what is beyond one.
    expect(ranges.pinball_bps).toBeCloseTo((4 * 10 + (90 + 30) / 2 + (180 + 40) / 2) / 6, 9)
    expect(only([outcome(0, { forecast: null })]).ranges).toEqual({
      forecasts: 0,
      non_overlapping: 0,
      coverage_80: null,
      coverage_50: null,
      below: null,
      above: null,
      pinball_bps: null,
    })
  })

  test('counts standard errors from blocks of 50 windows', () => {
    const races = ['up', 'up', 'down', 'up', 'up', 'down'] as const
    const outcomes = races.flatMap((race, block) =>
      [0, 1].map((n) => outcome(block * BLOCK_MS + n * WINDOW_MS, { call: 'BUY', race })),
    )
    const { t, blocks, net_mean_bps: mean, mean_margin_bps: margin } = only(outcomes).non_overlapping
    expect(blocks).toBe(6)
    const expected = (100 * 4 - 100 * 2) / 6 - 12
    expect(mean).toBeCloseTo(expected, 9)
    // Deviations of the block sums: four of 2 × (88 − mean), two of 2 × (−112 − mean).
    const squares = 4 * (2 * (88 - expected)) ** 2 + 2 * (2 * (-112 - expected)) ** 2
    expect(t).toBeCloseTo((12 * expected) / Math.sqrt(squares), 9)
    expect(margin).toBeCloseTo((halfWidth95(6) * Math.sqrt(squares)) / 12, 9)
  })

  test('of a read model that a former release folded names no race as independent, and has its shape', () => {
    const rows = fold(trackRecord, given(outcomeLabelled(outcome(0))))
    const former = JSON.parse(
      JSON.stringify(Object.values(rows)[0], (key, value) =>
        key === 'apart' && typeof value === 'number' ? undefined : value,
      ),
    )
    const row = trackRecordRow(former)
    expect(row.reliability).toMatchObject([{ races: 1, non_overlapping: 0 }])
    expect(trackRecordRowSchema.strict().safeParse(row).error).toBeUndefined()
  })

  test('says nothing of what there is none of', () => {
    const row = only([outcome(0, { call: 'HOLD', race: 'timeout' })])
    expect(row.non_overlapping).toMatchObject({ win_rate: null, net_mean_bps: null, t: null })
    expect(row).toMatchObject({ brier: null, calibration_error: null, reliability: [] })
    expect(row.baselines.random).toEqual({
      win_rate: null,
      in_favour: null,
      gross_mean_bps: null,
      net_mean_bps: null,
    })
    expect(
      only([outcome(0, { call: 'BUY', race: 'incomplete', entryPrice: null })]).spoken_races.incomplete,
    ).toBe(1)
  })

  test('of blocks that are all alike has no t', () => {
    const outcomes = Array.from({ length: 6 }, (_, block) => outcome(block * BLOCK_MS, { call: 'BUY' }))
    expect(only(outcomes).non_overlapping.t).toBeNull()
  })
})

describe('pages', () => {
  const source = sourceOf(
    ['BTC', 'ETH', 'SOL'].flatMap((coin) =>
      (['1h', '4h'] as const).flatMap((timeframe) =>
        ['first-1', 'second-1'].map((modelVersion) => outcome(0, { coin, timeframe, modelVersion })),
      ),
    ),
  )
  const names = (query: Partial<Parameters<typeof trackRecordReport>[1]>): string[] => {
    const found: string[] = []
    for (let after: string | undefined; ; ) {
      const page = trackRecordReport(source, {
        groupBy: 'series',
        limit: 100,
        ...query,
        ...(after && { after }),
      })
      expect(page.asOf).toBe('17')
      found.push(...page.rows.map((row) => `${row.model_version} ${row.coin} ${row.timeframe}`))
      if (page.next === undefined) return found
      expect(page.rows.length).toBeLessThanOrEqual(query.limit ?? 100)
      after = page.next
    }
  }

  test('of any size hold every row once, in order', () => {
    const all = names({})
    expect(all).toHaveLength(12)
    for (const limit of [1, 5, 6, 12]) expect(names({ limit })).toEqual(all)
  })

  test('show what a filter matches', () => {
    expect(names({ coin: 'ETH', timeframe: '4h', limit: 1 })).toEqual(['first-1 ETH 4h', 'second-1 ETH 4h'])
    expect(names({ modelVersion: 'second-1', coin: 'BTC' })).toEqual(['second-1 BTC 1h', 'second-1 BTC 4h'])
    expect(names({ modelVersion: 'second' })).toEqual([])
    expect(names({ exchange: 'HL' })).toEqual([])
  })

  test('pool the series of a timeframe', () => {
    expect(names({ groupBy: 'timeframe', modelVersion: 'first-1' })).toEqual([
      'first-1 null 1h',
      'first-1 null 4h',
    ])
    const pooled = trackRecordReport(source, { groupBy: 'timeframe', limit: 9 }).rows[0]
    expect(pooled?.verdicts).toBe(3)
  })
})

test('a row holds no number that a record of zeros could turn into NaN', () => {
  const record = fold(trackRecord, given(outcomeLabelled()))['series/first-1/SIM.BTC.1h'] as TrackRecord
  expect(JSON.stringify(trackRecordRow({ ...record, verdicts: 0 }))).not.toContain('NaN')
})
