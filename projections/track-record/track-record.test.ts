import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Outcome, RACE_OUTCOMES } from '../../contracts/domain/outcome.ts'
import { seriesName } from '../../contracts/domain/series.ts'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { CALLS } from '../../contracts/domain/verdict.ts'
import { fold, given, outcomeLabelled } from '../given-events.fixture.ts'
import { seriesRecordKey, type TrackRecord, timeframeRecordKey, trackRecord } from './track-record.ts'

const T0 = Date.UTC(2025, 0, 1)

/** An outcome of an hourly series, with an entry at 100 and barriers at 101 and 99. */
function ended(hour: number, change: Partial<Outcome> = {}): Outcome {
  const barClose = T0 + hour * HOUR_MS
  const race = change.race ?? 'timeout'
  const exits = { up: 101, down: 99, both: null, timeout: 100.25, incomplete: null }
  const fact = outcomeLabelled({
    barClose,
    validUntil: barClose + 8 * HOUR_MS,
    barrier: 0.01,
    race,
    entryPrice: race === 'incomplete' ? null : 100,
    exitPrice: exits[race],
    ...change,
  })
  return fact.event.data as Outcome
}

const rowsOf = (outcomes: readonly Outcome[]): Record<string, unknown> =>
  fold(trackRecord, given(...outcomes.map((outcome) => outcomeLabelled(outcome))))
const recordOf = (outcomes: readonly Outcome[]): TrackRecord =>
  rowsOf(outcomes)[seriesRecordKey('first-1', 'SIM.BTC.1h')] as TrackRecord
const pooledOf = (outcomes: readonly Outcome[]): TrackRecord =>
  rowsOf(outcomes)[timeframeRecordKey('first-1', '1h')] as TrackRecord

describe('a track record', () => {
  test('given nothing, there is none', () => {
    expect(rowsOf([])).toEqual({})
  })

  test('given a won BUY, it counts as such, after costs, beside what the constants made', () => {
    const record = recordOf([ended(0, { call: 'BUY', probability: 0.55, race: 'up' })])
    expect(record).toMatchObject({
      verdicts: 1,
      calls: { BUY: 1, SELL: 0, HOLD: 0 },
      races: { up: 1, down: 0, both: 0, timeout: 0, incomplete: 0 },
      brier: { races: 1, squares: expect.closeTo(0.45 ** 2, 12) },
      apart: { calls: 1, reached: 1, wins: 1, ups: 1, downs: 0, trades: 1 },
    })
    expect(record.apart.net).toBeCloseTo(0.01 - 0.0012, 12)
    expect(record.apart.buyNet).toBeCloseTo(0.01 - 0.0012, 12)
    expect(record.apart.sellNet).toBeCloseTo(-0.01 - 0.0012, 12)
    expect(record.reliability[5]).toEqual({ races: 1, wins: 1, said: 0.55, apart: 1 })
  })

  test('given a HOLD, its forecast counts and nothing else', () => {
    const record = recordOf([ended(0, { call: 'HOLD', probability: 0.49, race: 'down' })])
    expect(record.brier.races).toBe(1)
    expect(record.brierSpoken.races).toBe(0)
    expect(record.reliability[1]).toMatchObject({ races: 1, wins: 1 })
    expect(record.spoken.calls + record.apart.calls).toBe(0)
  })

  test('given a bar that touched both barriers, the call is lost, and no forecast is scored', () => {
    const record = recordOf([ended(0, { call: 'SELL', race: 'both' })])
    expect(record.apart).toMatchObject({ reached: 1, wins: 0, ups: 0, downs: 0 })
    expect(record.apart.net).toBeCloseTo(-0.01 - 0.0012, 12)
    expect(record.brier.races).toBe(0)
  })

  test('given an incomplete race, it is counted and has no return', () => {
    const record = recordOf([ended(0, { call: 'BUY', race: 'incomplete' })])
    expect(record.spokenRaces.incomplete).toBe(1)
    expect(record.apart).toMatchObject({ calls: 1, reached: 0, trades: 0, net: 0 })
  })

  test('given calls whose windows overlap, the first is apart, then the next behind its window', () => {
    const outcomes = [0, 1, 7, 8, 15, 16].map((hour) => ended(hour, { call: 'BUY', race: 'up' }))
    const { spoken, apart } = recordOf(outcomes)
    expect([spoken.calls, apart.calls]).toEqual([6, 3])
  })

  test('given races of one percent whose windows overlap, HOLDs too, only those apart are independent', () => {
    const outcomes = [0, 1, 7, 8, 15, 16].flatMap((hour) => [
      ended(hour, { call: 'HOLD', probability: 0.505, race: 'up' }),
      ended(hour, { call: 'HOLD', probability: 0.505, race: 'down', coin: 'ETH' }),
    ])
    const beside = ended(2, { call: 'HOLD', probability: 0.485, race: 'up' })
    const undecided = ended(20, { call: 'HOLD', probability: 0.505, race: 'timeout' })
    const all = [...outcomes.slice(0, 4), beside, ...outcomes.slice(4), undecided]
    expect(recordOf(all).reliability.slice(0, 2)).toMatchObject([
      { races: 6, apart: 3 },
      { races: 1, apart: 1 },
    ])
    expect(pooledOf(all).reliability.slice(0, 2)).toMatchObject([
      { races: 12, apart: 6 },
      { races: 1, apart: 1 },
    ])
  })

  test('given a verdict that was recorded behind its window, it is counted apart and nothing else changes', () => {
    const inTime = [ended(0, { call: 'BUY', race: 'up' })]
    const { recordedLate, ...others } = recordOf([
      ...inTime,
      ended(1, { call: 'BUY', race: 'up', recordedLate: true }),
      ended(9, { call: 'SELL', race: 'down', recordedLate: true }),
    ])
    expect(recordedLate).toEqual({ BUY: 1, SELL: 1, HOLD: 0 })
    expect({ ...others, recordedLate: { BUY: 0, SELL: 0, HOLD: 0 } }).toEqual(recordOf(inTime))
    const only = recordOf([ended(1, { recordedLate: true })])
    expect(only).toMatchObject({ verdicts: 0, from: null, to: null })
  })

  test('given bars without a verdict in front of one, they are counted for the series and its timeframe', () => {
    const rows = rowsOf([
      ended(0, { barsMissed: 3 }),
      ended(1, { barsMissed: 1, recordedLate: true }),
      ended(2, { barsMissed: 2, coin: 'ETH' }),
    ])
    expect(rows[seriesRecordKey('first-1', 'SIM.BTC.1h')]).toMatchObject({ barsMissed: 4, verdicts: 1 })
    expect(rows[timeframeRecordKey('first-1', '1h')]).toMatchObject({ barsMissed: 6 })
  })

  test('given two models, each has records of its own', () => {
    const keys = Object.keys(rowsOf([ended(0), ended(1, { modelVersion: 'second-1', coin: 'ETH' })]))
    expect(keys.toSorted()).toEqual([
      'series/first-1/SIM.BTC.1h',
      'series/second-1/SIM.ETH.1h',
      'timeframe/first-1/1h',
      'timeframe/second-1/1h',
    ])
  })
})

/** The same figures from all outcomes at once, by their definitions. */
function oracle(outcomes: readonly Outcome[]) {
  const spoken = outcomes.filter(({ call }) => call !== 'HOLD')
  const freeFrom = new Map<string, number>()
  const apart = spoken.filter((outcome) => {
    const name = seriesName(outcome)
    if (outcome.barClose < (freeFrom.get(name) ?? 0)) return false
    freeFrom.set(name, outcome.validUntil)
    return true
  })
  const decided = outcomes.filter(({ race }) => race === 'up' || race === 'down')
  const returnOf = ({ race, barrier, exitPrice }: Outcome, side: 1 | -1): number =>
    (race === 'both' ? -barrier : side * ((exitPrice ?? 0) / 100 - 1)) - 0.0012
  const traded = apart.filter(({ race }) => race !== 'incomplete')
  const nets = traded.map((one) => ({
    net: returnOf(one, one.call === 'BUY' ? 1 : -1),
    block: Math.floor(one.barClose / (400 * HOUR_MS)),
  }))
  const blocks = [...Map.groupBy(nets, ({ block }) => block).values()].map((members) => ({
    n: members.length,
    sum: members.reduce((total, { net }) => total + net, 0),
  }))
  const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)
  return {
    verdicts: outcomes.length,
    races: RACE_OUTCOMES.map((race) => outcomes.filter((one) => one.race === race).length),
    spoken: spoken.length,
    apart: apart.length,
    wins: apart.filter(({ call, race }) => (call === 'BUY' ? race === 'up' : race === 'down')).length,
    reached: apart.filter(({ race }) => race === 'up' || race === 'down' || race === 'both').length,
    brier: total(decided.map(({ race, probability }) => (probability - Number(race === 'up')) ** 2)),
    said: total(decided.map(({ probability }) => Math.max(probability, 1 - probability))),
    forecasts: decided.length,
    net: total(nets.map(({ net }) => net)),
    buyNet: total(traded.map((one) => returnOf(one, 1))),
    sellNet: total(traded.map((one) => returnOf(one, -1))),
    blocks: blocks.length,
    nn: total(blocks.map(({ n }) => n * n)),
    ns: total(blocks.map(({ n, sum }) => n * sum)),
    ss: total(blocks.map(({ sum }) => sum * sum)),
  }
}

function figures(record: TrackRecord): ReturnType<typeof oracle> {
  const { apart, blocks, reliability } = record
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  return {
    verdicts: record.verdicts,
    races: RACE_OUTCOMES.map((race) => record.races[race]),
    spoken: record.spoken.calls,
    apart: apart.calls,
    wins: apart.wins,
    reached: apart.reached,
    brier: record.brier.squares,
    said: sum(reliability.map(({ said }) => said)),
    forecasts: sum(reliability.map(({ races }) => races)),
    net: apart.net,
    buyNet: apart.buyNet,
    sellNet: apart.sellNet,
    blocks: blocks.blocks,
    nn: blocks.nn,
    ns: blocks.ns,
    ss: blocks.ss,
  }
}

describe('folding', () => {
  const COINS = ['BTC', 'ETH', 'SOL'] as const
  /** Outcomes of three series: each in the order of its bars, the series in any order. */
  const history = fc
    .array(
      fc.record({
        coin: fc.constantFrom(...COINS),
        step: fc.integer({ min: 1, max: 300 }),
        call: fc.constantFrom(...CALLS),
        race: fc.constantFrom(...RACE_OUTCOMES),
        probability: fc.double({ min: 0.3, max: 0.7, noNaN: true }),
      }),
      { minLength: 1, maxLength: 40 },
    )
    .map((facts) => {
      const hours = new Map<string, number>()
      return facts.map(({ step, ...fact }) => {
        const hour = (hours.get(fact.coin) ?? 0) + step
        hours.set(fact.coin, hour)
        return ended(hour, fact)
      })
    })

  const close = (expected: ReturnType<typeof oracle>) =>
    Object.fromEntries(
      Object.entries(expected).map(([name, value]) => [
        name,
        typeof value === 'number' && !Number.isInteger(value) ? expect.closeTo(value, 9) : value,
      ]),
    )

  test('gives what a look at all outcomes at once gives, per series and pooled', () => {
    fc.assert(
      fc.property(history, (outcomes) => {
        const rows = rowsOf(outcomes)
        for (const coin of COINS) {
          const own = outcomes.filter((outcome) => outcome.coin === coin)
          const record = rows[seriesRecordKey('first-1', `SIM.${coin}.1h`)] as TrackRecord | undefined
          if (record === undefined) expect(own).toEqual([])
          else expect(figures(record)).toEqual(close(oracle(own)))
        }
        expect(figures(pooledOf(outcomes))).toEqual(close(oracle(outcomes)))
      }),
    )
  })

  test('does not depend on which series was labelled first', () => {
    fc.assert(
      fc.property(history, (outcomes) => {
        const sorted = outcomes.toSorted((a, b) => (a.coin < b.coin ? 1 : a.coin > b.coin ? -1 : 0))
        expect(figures(pooledOf(sorted))).toEqual(close(figures(pooledOf(outcomes))))
        expect(recordOf(sorted)).toEqual(recordOf(outcomes))
      }),
    )
  })

  test('keeps a record of a fixed size', () => {
    const size = (count: number): number =>
      Object.keys(JSON.parse(JSON.stringify(recordOf(Array.from({ length: count }, (_, n) => ended(n))))))
        .length
    expect(size(200)).toBe(size(1))
    expect(JSON.stringify(recordOf([ended(0)])).length).toBeLessThan(2_500)
  })
})
