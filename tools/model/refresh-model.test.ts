import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../contracts/timeframes.ts'
import { SeriesEngine } from '../../services/engine/engine.ts'
import { createModel, type VerdictModelData } from '../../services/engine/model.ts'
import { describeHistory } from './describe-history.ts'
import { fitModel, prepare } from './fit-model.ts'
import { plantedMarket } from './planted-market.fixture.ts'
import { RECIPE } from './recipe.ts'
import { refreshModel } from './refresh-model.ts'
import type { SeriesHistory } from './series-history.ts'

const quiet = (): void => undefined
const BARS = 8_000
const markets = [plantedMarket(5, BARS, 1), plantedMarket(6, BARS, 1, 'ETH')]
const UNTIL = 6_000 * HOUR_MS
const DAYS = 120

const model = await (async () => {
  const used = markets.flatMap((history) => describeHistory(history) ?? [])
  const recipe = { ...RECIPE, habitDays: DAYS, fewestRaces: 500 }
  return fitModel('planted-1', await prepare(markets, recipe, quiet), used, quiet)
})()

const refreshed = (histories: readonly SeriesHistory[] = markets, until = UNTIL): Promise<VerdictModelData> =>
  refreshModel(model, 'planted-1.q3', histories, until)

const withBars = (change: (bar: SeriesHistory['bars'][number]) => SeriesHistory['bars'][number]) =>
  markets.map((history) => ({ ...history, bars: history.bars.map(change) }))

describe('a refresh of a model', () => {
  test('changes offsets and hours of the day and nothing else, and says of which model it is', async () => {
    const { version, provenance, timeframes, hours: _, ...rest } = await refreshed()
    const { timeframes: before, version: formerVersion, provenance: formerProvenance, ...former } = model
    expect(rest).toEqual(former)
    expect([version, provenance]).toEqual([
      'planted-1.q3',
      { ...formerProvenance, refreshed: { model: formerVersion, until: UNTIL } },
    ])
    const [now, then] = [timeframes['1h'], before['1h']]
    if (!now.skill || !then.skill || !now.closes?.skill || !then.closes?.skill)
      throw new Error('There is no skill.')
    expect(now.offset).not.toBe(then.offset)
    expect(now.closes.offset).not.toBe(then.closes.offset)
    expect({ ...now, offset: 0, closes: 0 }).toEqual({ ...then, offset: 0, closes: 0 })
    expect({ ...now.closes, offset: 0 }).toEqual({ ...then.closes, offset: 0 })
  })

  test('is the same to the last byte from the same data', async () => {
    expect(JSON.stringify(await refreshed())).toBe(JSON.stringify(await refreshed()))
  })

  test('knows nothing of what was not over by then, nor of what is older than its days', async () => {
    const wild = (bar: SeriesHistory['bars'][number]) => ({ ...bar, high: bar.high * 2 })
    const later = withBars((bar) => (bar.openTime >= UNTIL ? wild(bar) : bar))
    expect(await refreshed(later)).toEqual(await refreshed())
    // Longer before than what the measures of a bar remember, too.
    const long = UNTIL - DAYS * DAY_MS - 2_000 * HOUR_MS
    const older = withBars((bar) => (bar.openTime < long ? { ...bar, volume: bar.volume * 3 } : bar))
    expect(await refreshed(older)).toEqual(await refreshed())
  })

  test('makes forecasts of its two years right on average, where the former were off', async () => {
    const rising = withBars((bar) => bar)
    const found = (await refreshed(rising)).timeframes['1h']
    if (!found.skill) throw new Error('There is no skill.')
    const again = await refreshModel(
      { ...model, timeframes: { ...model.timeframes, '1h': { ...found, offset: 0.5 } } },
      'x-1',
      rising,
      UNTIL,
    )
    const settled = again.timeframes['1h']
    expect(settled.skill && Math.abs(settled.offset - found.offset)).toBeLessThan(1e-5)
  })

  test('is used by an engine like any other model', async () => {
    const data = await refreshed()
    const engine = new SeriesEngine({ model: createModel(data) })
    const slot = engine.open({ exchange: 'SIM', coin: 'BTC', timeframe: '1h' })
    for (const bar of markets[0]?.bars.slice(0, 600) ?? []) engine.push(slot, bar)
    const reading = engine.read(slot)
    if (reading.status !== 'verdict') throw new Error('There is no verdict.')
    const { skill, ...found } = data.timeframes['1h']
    expect(skill && 'offset' in found && reading.verdict.factors[0]?.contribution).toBe(
      'offset' in found && found.offset,
    )
    expect(reading.verdict.modelVersion).toBe('planted-1.q3')
  })
})
