import { describe, expect, test } from 'vitest'
import { parseSeriesName, type Series } from '../../../contracts/domain/series.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import type { LatestVerdict } from '../../../projections/index.ts'
import { createMarketsSource, type MarketsSourceParts } from './newest-verdicts.ts'

const hourly: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }
const other: Series = { exchange: 'SIM', coin: 'DOGE', timeframe: '4h' }

/** The listing: BTC at two timeframes. */
const feed = {
  clock: () => 10,
  listings: async () => [
    { exchange: 'SIM', coin: 'BTC', timeframes: ['1h', '1d'], native: [], hasFunding: true },
    { exchange: 'SIM', coin: 'GONE', timeframes: [], native: [], hasFunding: false },
  ],
} as unknown as MarketsSourceParts['feed']

/** A read model with the newest bar of each series. */
function projectorWith(
  bars: Readonly<Record<string, number>>,
  state = 'live',
): NonNullable<MarketsSourceParts['projector']> {
  const rowOf = (key: string): LatestVerdict => ({
    verdict: aVerdict({ ...parseSeriesName(key), barClose: bars[key] ?? 0 }),
    position: '1',
    recorded: 1,
    buys: 0,
    sells: 0,
  })
  const keys = Object.keys(bars).toSorted()
  const reader = {
    health: () => ({ state }),
    get: (key: string) => (keys.includes(key) ? rowOf(key) : undefined),
    range: ({ prefix = '', after = '', limit }: { prefix?: string; after?: string; limit: number }) =>
      keys
        .filter((key) => key > after && key.startsWith(prefix))
        .slice(0, limit)
        .map((key) => ({ key, row: rowOf(key) })),
  }
  return { reader: () => reader } as unknown as NonNullable<MarketsSourceParts['projector']>
}

describe('what is known of markets', () => {
  test('with an engine: what is listed and what is followed, with the bars of the board', async () => {
    const source = createMarketsSource({
      feed,
      projector: projectorWith({ 'SIM.BTC.1h': 3 }),
      engine: { newestBar: () => 7 },
      watchList: {
        exchanges: ['SIM'],
        series: () => [hourly, other],
        has: (one: Series) => one.coin === 'BTC',
      } as unknown as NonNullable<MarketsSourceParts['watchList']>,
    })
    expect(await source.markets()).toEqual([
      { exchange: 'SIM', coin: 'BTC', timeframes: ['1h', '1d'] },
      { exchange: 'SIM', coin: 'DOGE', timeframes: ['4h'] },
    ])
    expect([source.newestBar(hourly), source.isMonitored(hourly), source.isMonitored(other)]).toEqual([
      7,
      true,
      false,
    ])
  })

  test('without an engine: what is listed and what was recorded, whether monitored is not known', async () => {
    const source = createMarketsSource({
      feed,
      projector: projectorWith({ 'SIM.BTC.1h': 3, 'SIM.DOGE.15m': 4, 'SIM.DOGE.4h': 5 }),
      engine: undefined,
      watchList: undefined,
    })
    expect((await source.markets()).at(-1)).toEqual({
      exchange: 'SIM',
      coin: 'DOGE',
      timeframes: ['15m', '4h'],
    })
    expect([source.newestBar(other), source.isMonitored(other), source.clock()]).toEqual([5, undefined, 10])
  })

  test('what was recorded is told by the read model, once it has caught up', () => {
    const bars = { 'SIM.BTCX.1h': 3, 'HL.ETH.4h': 5 }
    const sourceOf = (projector: MarketsSourceParts['projector']) =>
      createMarketsSource({ feed, projector, engine: undefined, watchList: undefined })
    const source = sourceOf(projectorWith(bars))
    const isRecorded = (...given: Parameters<typeof source.isRecorded>) => source.isRecorded(...given)
    expect([
      isRecorded('SIM'),
      isRecorded('SIM', 'BTCX'),
      isRecorded('SIM', 'BTC'),
      isRecorded('OKX'),
    ]).toEqual([true, true, false, false])
    expect(sourceOf(projectorWith(bars, 'building')).isRecorded('SIM', 'BTC')).toBeUndefined()
    expect(sourceOf(undefined).isRecorded('SIM', 'BTC')).toBeUndefined()
  })

  test('without an engine and without read models: what is listed, of no known age', async () => {
    const source = createMarketsSource({
      feed,
      projector: undefined,
      engine: undefined,
      watchList: undefined,
    })
    expect(await source.markets()).toHaveLength(1)
    expect(source.newestBar(hourly)).toBeUndefined()
  })
})
