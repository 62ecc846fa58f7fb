import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../contracts/domain/outcome.ts'
import { DAY_MS, HOUR_MS } from '../../contracts/domain/timeframes.ts'
import type { ServiceEvent } from '../../contracts/events/event-catalogue.ts'
import { fold, given, outcomeLabelled } from '../given-events.fixture.ts'
import {
  areaUnder,
  BINS,
  binOf,
  type SpeechRow,
  speech,
  speechKey,
  speechWindowDays,
  withdrawalAt,
} from './speech.ts'

const MODEL = 'barrier-6'
/** Days of outcomes after which nothing stands for the days without any. */
const WHOLE = 180

const DAY_0 = Math.floor(Date.UTC(2026, 0, 1) / DAY_MS)

const [OUTCOME] = given(outcomeLabelled())

/** An outcome whose window closes within a day; made of one that was decoded, because there are many. */
function ended(
  day: number,
  race: Outcome['race'],
  probability: number,
  change: Partial<Outcome> = {},
): ServiceEvent {
  if (OUTCOME?.type !== 'OutcomeLabelled') throw new TypeError('no outcome')
  const validUntil = (DAY_0 + day) * DAY_MS + 9 * HOUR_MS
  return {
    ...OUTCOME,
    data: {
      ...OUTCOME.data,
      modelVersion: MODEL,
      timeframe: '15m',
      validUntil,
      race,
      probability,
      ...change,
    },
  }
}

/** A day of races; with skill above 0 the higher forecasts win, below it they lose. */
const aDay = (day: number, skill: number, races = 120, change: Partial<Outcome> = {}): ServiceEvent[] =>
  Array.from({ length: races }, (_, n) => {
    const isHigh = n % 2 === 0
    // Nine of twelve races are tosses, and the others are told rightly or wrongly.
    const isUp = n % 12 < 3 ? isHigh === skill > 0 : n % 4 < 2
    return ended(day, isUp ? 'up' : 'down', isHigh ? 0.54 : 0.46, change)
  })

const days = (
  from: number,
  to: number,
  skill: number,
  races?: number,
  change?: Partial<Outcome>,
): ServiceEvent[] => Array.from({ length: to - from }, (_, n) => aDay(from + n, skill, races, change)).flat()

const rowOf = (...events: ServiceEvent[]): SpeechRow =>
  fold(speech, events)[speechKey(MODEL, '15m')] as SpeechRow
/** Half a year in which forecasts ranked as well as none, but for the very first day. */
const EVEN = days(0, WHOLE, 0)

describe('speech', () => {
  test('given skill, nothing is due, however long', () => {
    expect(rowOf(...days(0, 200, 1))).toMatchObject({ changes: [], running: 0, auc: expect.closeTo(0.62, 1) })
  })

  test('given too few races, a day says nothing, however bad it was', () => {
    expect(rowOf(...days(0, 8, -1))).toMatchObject({ auc: null, races: 840, changes: [], running: 0 })
    const oneSided = Array.from({ length: 30 }, (_, day) =>
      Array.from({ length: 99 }, () => ended(day, 'up', 0.4)),
    ).flat()
    expect(rowOf(...oneSided)).toMatchObject({ auc: null, running: 0, changes: [] })
  })

  test('given few days, what the model scored outside of its fit stands for the others', () => {
    const { auc } = rowOf(...days(0, 18, -1), ...aDay(18, -1, 1))
    const measured = rowOf(...days(0, WHOLE, -1), ...aDay(WHOLE, -1, 1)).auc ?? 0
    expect(measured).toBeLessThan(0.45)
    expect(auc).toBeCloseTo(0.1 * measured + 0.9 * 0.536, 6)
  })

  test('given no skill, calls are withdrawn after the fourteenth day below .505', () => {
    const bad = days(0, 80, -1)
    const first = bad.findIndex(
      (_, n) => n > 0 && n % 120 === 1 && (rowOf(...bad.slice(0, n)).auc ?? 1) < 0.505,
    )
    const day = Math.floor(first / 120) - 1
    expect(rowOf(...bad.slice(0, (day + 14) * 120)).changes).toEqual([])
    const { changes, running } = rowOf(...bad.slice(0, (day + 14) * 120 + 1))
    const decidedOn = (DAY_0 + day + 13) * DAY_MS
    expect(changes).toEqual([
      expect.objectContaining({
        change: 'withdraw',
        day: decidedOn,
        from: decidedOn + 2 * DAY_MS,
        days: 14,
        rule: 3,
      }),
    ])
    expect([running, (changes[0]?.auc ?? 1) < 0.505]).toEqual([0, true])
  })

  test('given a withdrawal, it applies from the second midnight on, until fourteen days at .515 or more', () => {
    const { changes } = rowOf(...days(0, 80, -1))
    expect(rowOf(...days(0, 80, -1), ...days(80, 90, 1)).changes).toEqual(changes)
    const row = rowOf(...days(0, 80, -1), ...days(80, 300, 1))
    expect(row.changes).toMatchObject([{ change: 'withdraw' }, { change: 'restore', days: 14 }])
    const [withdrawn, restored] = row.changes
    expect(restored?.auc).toBeGreaterThanOrEqual(0.515)
    const at = [withdrawn?.from ?? 0, restored?.from ?? 0].flatMap((from) => [from - 1, from])
    expect(at.map((close) => withdrawalAt(row, close)?.day)).toEqual([
      undefined,
      withdrawn?.day,
      withdrawn?.day,
      undefined,
    ])
  })

  test('given a timeframe at which no calls are made, nothing is judged', () => {
    expect(fold(speech, days(0, 80, -1, 120, { timeframe: '4h' }))).toEqual({})
  })

  test('given outcomes that foresaw nothing or were not decided, they do not count', () => {
    const nothing = [
      ended(1, 'timeout', 0.54),
      ended(1, 'both', 0.54),
      ended(1, 'incomplete', 0.54),
      ended(1, 'up', 0.54, { recordedLate: true }),
    ]
    expect(fold(speech, nothing)).toEqual({})
  })

  test('given another model, it begins anew', () => {
    const rows = fold(speech, [...EVEN, ended(WHOLE, 'up', 0.5, { modelVersion: 'second-1' })])
    expect(rows[speechKey('second-1', '15m')]).toMatchObject({ running: 0, changes: [], auc: null })
  })

  test('keeps the days of its window and no others, also over a gap', () => {
    const rows = fold(speech, [...days(0, 400, 1, 4), ...aDay(1_000, 1, 4), ended(1, 'up', 0.5)])
    expect(Object.keys(rows)).toEqual([speechKey(MODEL, '15m'), `day/${MODEL}/15m/${DAY_0 + 1_000}`])
    const many = fold(speech, [...days(0, 300, 1, 4)])
    expect(Object.keys(many)).toHaveLength(1 + 180)
    expect((many[speechKey(MODEL, '15m')] as SpeechRow).races).toBe(180 * 4)
    expect(JSON.stringify(many[`day/${MODEL}/15m/${DAY_0 + 299}`]).length).toBeLessThan(1_000)
  })

  test('given bars of half an hour or more, two years count, and the days before them are dropped', () => {
    expect([speechWindowDays('15m'), speechWindowDays('30m')]).toEqual([180, 730])
    const rows = fold(speech, days(0, 760, 1, 4, { timeframe: '30m' }))
    expect((rows[speechKey(MODEL, '30m')] as SpeechRow).days).toHaveLength(730)
    expect(Object.keys(rows)).toHaveLength(731)
  })

  test('the area is that of all pairs, whatever the forecasts', () => {
    const forecast = fc.record({
      isUp: fc.boolean(),
      probability: fc.integer({ min: 0, max: BINS - 1 }).map((bin) => 0.399 + 0.002 * bin),
    })
    fc.assert(
      fc.property(fc.array(forecast, { minLength: 2, maxLength: 60 }), (all) => {
        const up = new Float64Array(BINS)
        const down = new Float64Array(BINS)
        for (const { isUp, probability } of all) {
          const bins = isUp ? up : down
          bins[binOf(probability)] = (bins[binOf(probability)] ?? 0) + 1
        }
        const [ups, downs] = [all.filter(({ isUp }) => isUp), all.filter(({ isUp }) => !isUp)]
        fc.pre(ups.length * downs.length > 0)
        const pairs = ups.flatMap((a) =>
          downs.map((b) => (a.probability > b.probability ? 1 : a.probability === b.probability ? 0.5 : 0)),
        )
        const mean = pairs.reduce<number>((sum, one) => sum + one, 0) / pairs.length
        expect(areaUnder(up, down).auc).toBeCloseTo(mean, 12)
      }),
    )
  })
})
