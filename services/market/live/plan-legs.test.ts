import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { barOpenAt, DAY_MS, TIMEFRAMES, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { planLegs } from './plan-legs.ts'

const FOREVER = Number.POSITIVE_INFINITY
const anInstant = fc.integer({ min: 2_000 * DAY_MS, max: 30_000 * DAY_MS })
const someTimeframes = fc.subarray([...TIMEFRAMES], { minLength: 1 })

const seriesOf = (timeframes: readonly Series['timeframe'][]): Series[] =>
  timeframes.map((timeframe) => ({ exchange: 'OKX', coin: 'BTC', timeframe }))

test('every instant of every series, from its history on, has one leg, and only one, that tells it', () => {
  fc.assert(
    fc.property(
      anInstant,
      someTimeframes,
      fc.integer({ min: 1, max: 1_700 }),
      fc.constantFrom(FOREVER, 5_000),
      (liveFrom, timeframes, historyBars, keptBars) => {
        const legs = planLegs(seriesOf(timeframes), { liveFrom, historyBars, keptBars })
        for (const series of seriesOf(timeframes)) {
          const parts = legs
            .flatMap((leg) => leg.targets.map((target) => ({ ...target, leg })))
            .filter((target) => seriesName(target.series) === seriesName(series))
            .toSorted((a, b) => a.notBefore - b.notBefore)
          const lengthMs = timeframeMs(series.timeframe)
          expect(parts[0]?.notBefore).toBe(barOpenAt(series.timeframe, liveFrom) - historyBars * lengthMs)
          expect(parts.at(-1)?.endsAt).toBe(Number.POSITIVE_INFINITY)
          for (const [index, { notBefore, endsAt, leg }] of parts.entries()) {
            if (index > 0) expect(notBefore).toBe(parts[index - 1]?.endsAt)
            expect(notBefore % lengthMs).toBe(0)
            expect(lengthMs % timeframeMs(leg.timeframe)).toBe(0)
            expect(leg.begins).toBeLessThanOrEqual(notBefore)
            expect(leg.ends).toBeGreaterThanOrEqual(endsAt)
            // The venue still has the first of them.
            expect((liveFrom - notBefore) / timeframeMs(leg.timeframe)).toBeLessThanOrEqual(keptBars)
          }
        }
      },
    ),
  )
})

test('eleven timeframes take two legs that go on and four of the past, with a few thousand bars', () => {
  const liveFrom = 20_000 * DAY_MS
  const legs = planLegs(seriesOf([...TIMEFRAMES]), { liveFrom, historyBars: 600, keptBars: FOREVER })
  const shape = legs.map(
    ({ timeframe, ends }) => `${timeframe} ${ends === Number.POSITIVE_INFINITY ? 'live' : 'past'}`,
  )
  expect(shape.toSorted()).toEqual(['1h live', '1m live', '4h past', '5m past'])
  const bars = legs.reduce((sum, leg) => sum + (liveFrom - leg.begins) / timeframeMs(leg.timeframe), 0)
  expect(bars).toBe(1_800 + 1_200 + 3_600 + 3_600)
})

test('where a venue keeps 5,000 bars, what takes more of them has its own, and nothing is cut short', () => {
  const liveFrom = 20_000 * DAY_MS
  const { historyBars } = LIMITS
  const legs = planLegs(seriesOf([...TIMEFRAMES]), { liveFrom, historyBars, keptBars: 5_000 })
  expect(legs.filter(({ ends }) => ends !== FOREVER).map(({ timeframe }) => timeframe)).toEqual([
    '5m',
    '30m',
    '4h',
    '1d',
  ])
})

test('history reaches as far back as is asked for', () => {
  const liveFrom = 20_000 * DAY_MS
  const [leg] = planLegs(seriesOf(['1h']), {
    liveFrom,
    historyBars: 10,
    keptBars: FOREVER,
    historyFrom: liveFrom - 7 * DAY_MS - 1,
  })
  expect(leg?.begins).toBe(liveFrom - 7 * DAY_MS - timeframeMs('1h'))
})
