import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ServiceEvent } from '../../contracts/event-catalogue.ts'
import { SpeechRestored, SpeechWithdrawn } from '../../contracts/model-events.ts'
import type { Outcome } from '../../contracts/outcome.ts'
import { DAY_MS, HOUR_MS } from '../../contracts/timeframes.ts'
import { fold, given, outcomeLabelled, speechFact } from '../given-events.fixture.ts'
import { areaUnder, BINS, binOf, type SpeechRow, speech, speechKey, speechRuleOf } from './speech.ts'

/** A model of a former release, whose log is judged by the first rule; one that nobody walked, and one that was. */
const FORMER = 'barrier-3'
const OWN = 'mine-1'
const RELEASED = 'barrier-5'

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
    data: { ...OUTCOME.data, modelVersion: FORMER, validUntil, race, probability, ...change },
  }
}
const speechEvent = (...about: Parameters<typeof speechFact>): ServiceEvent[] =>
  given(speechFact(about[0], { modelVersion: FORMER, ...about[1] }))

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
  fold(speech, events)[speechKey('barrier-3', '1h')] as SpeechRow

describe('speech', () => {
  test('given skill, nothing is due, however long', () => {
    expect(rowOf(...days(0, 40, 1))).toMatchObject({ due: null, running: 0, auc: expect.closeTo(0.62, 1) })
  })

  test('given too few races, a day says nothing, however bad it was', () => {
    expect(rowOf(...days(0, 8, -1))).toMatchObject({ auc: null, races: 840, due: null, running: 0 })
    const oneSided = Array.from({ length: 30 }, (_, day) =>
      Array.from({ length: 99 }, () => ended(day, 'up', 0.4)),
    ).flat()
    expect(rowOf(...oneSided)).toMatchObject({ auc: null, running: 0, due: null })
  })

  test('given no skill, withdrawal is due behind the fourteenth day that says so', () => {
    // 1,000 races are there with the ninth day; each day is judged with the first outcome behind it.
    expect(rowOf(...days(0, 22, -1), ...aDay(22, -1, 1))).toMatchObject({ running: 14, races: 2_640 })
    expect(rowOf(...days(0, 22, -1)).due).toBeNull()
    const { due } = rowOf(...days(0, 23, -1))
    expect(due).toMatchObject({
      change: 'withdraw',
      day: (DAY_0 + 21) * DAY_MS,
      days: 14,
      races: 2_640,
      rule: 1,
    })
    expect(due?.auc).toBeLessThan(0.5)
  })

  test('given what is due, days that speak against it do not take it back', () => {
    expect(rowOf(...days(0, 23, -1), ...days(23, 60, 1)).due).toMatchObject({
      change: 'withdraw',
      day: (DAY_0 + 21) * DAY_MS,
    })
  })

  test('given a withdrawal in the log, restoration is due behind fourteen days at .505 or more', () => {
    const withdrawn = speechEvent(SpeechWithdrawn, { day: (DAY_0 + 21) * DAY_MS })
    const before = [...days(0, 23, -1), ...withdrawn]
    expect(rowOf(...before)).toMatchObject({
      due: null,
      running: 0,
      withdrawn: { day: (DAY_0 + 21) * DAY_MS },
    })
    const after = rowOf(...before, ...days(23, 120, 1))
    expect(after.due).toMatchObject({ change: 'restore', days: 14 })
    expect(after.due?.auc).toBeGreaterThanOrEqual(0.505)
    const restored = speechEvent(SpeechRestored, { day: after.due?.day ?? 0 })
    expect(rowOf(...before, ...days(23, 120, 1), ...restored)).toMatchObject({
      withdrawn: null,
      due: null,
      running: 0,
    })
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
    const rows = fold(speech, [...days(0, 23, -1), ended(23, 'up', 0.5, { modelVersion: 'second-1' })])
    expect(rows[speechKey('second-1', '1h')]).toMatchObject({ running: 0, due: null, auc: null })
  })

  test('keeps the days of its window and no others, also over a gap', () => {
    const rows = fold(speech, [...days(0, 400, 1, 4), ...aDay(1_000, 1, 4), ended(1, 'up', 0.5)])
    expect(Object.keys(rows)).toEqual([speechKey('barrier-3', '1h'), `day/barrier-3/1h/${DAY_0 + 1_000}`])
    const many = fold(speech, [...days(0, 300, 1, 4)])
    expect(Object.keys(many)).toHaveLength(1 + 180)
    expect((many[speechKey('barrier-3', '1h')] as SpeechRow).races).toBe(180 * 4)
    expect(JSON.stringify(many[`day/barrier-3/1h/${DAY_0 + 299}`]).length).toBeLessThan(1_000)
  })

  describe('by the second rule', () => {
    const row = (modelVersion: string, timeframe: Outcome['timeframe'], events: ServiceEvent[]) =>
      fold(speech, events)[speechKey(modelVersion, timeframe)] as SpeechRow

    test('given no skill at all, calls are withdrawn at .505, and restored at .515 alone', () => {
      expect(speechRuleOf(OWN, '15m')).toMatchObject({
        rule: 2,
        windowDays: 180,
        withdraw: 0.505,
        restore: 0.515,
      })
      const of = { modelVersion: OWN, timeframe: '15m' } as const
      // Half of the forecasts are right: the first rule finds that good enough for ever.
      const even = (modelVersion: string) => days(0, 40, 0, 120, { ...of, modelVersion })
      const half = (events: ServiceEvent[]) =>
        events.map((event, n) =>
          event.type === 'OutcomeLabelled'
            ? { ...event, data: { ...event.data, race: n % 4 < 2 ? ('up' as const) : ('down' as const) } }
            : event,
        )
      expect(row(OWN, '15m', half(even(OWN)))).toMatchObject({
        auc: 0.5,
        due: { change: 'withdraw', rule: 2 },
      })
      expect(row(FORMER, '15m', half(even(FORMER)))).toMatchObject({ auc: 0.5, due: null })
    })

    test('given a model that was walked, the walk stands for the days without outcomes', () => {
      const walked = speechRuleOf(RELEASED, '1h').walkedAuc ?? expect.fail('It was not walked.')
      const of = { modelVersion: RELEASED, timeframe: '1h' } as const
      const events = [...days(0, 73, -1, 120, of), ...aDay(73, -1, 1, of)]
      const { auc, due } = row(RELEASED, '1h', events)
      const own = row(OWN, '1h', [
        ...days(0, 73, -1, 120, { ...of, modelVersion: OWN }),
        ...aDay(73, -1, 1, { ...of, modelVersion: OWN }),
      ])
      expect(own.due).toMatchObject({ change: 'withdraw' })
      expect(auc).toBeCloseTo(0.1 * (own.auc ?? 0) + 0.9 * walked, 9)
      expect(due).toBeNull()
    })

    test('given bars of half an hour or more, two years count, and the days before them are dropped', () => {
      const of = { modelVersion: OWN, timeframe: '30m' } as const
      const rows = fold(speech, days(0, 760, 1, 4, of))
      expect((rows[speechKey(OWN, '30m')] as SpeechRow).days).toHaveLength(730)
      expect(Object.keys(rows)).toHaveLength(731)
    })
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
