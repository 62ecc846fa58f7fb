import { expect, test } from 'vitest'
import { fold, given, outcomeLabelled } from '../../projections/given-events.fixture.ts'
import { trackRecord } from '../../projections/index.ts'
import { recordCoins } from './record-coins.ts'

const START = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000
const outcome = (coin: string, timeframe: '1h' | '4h', race: 'up' | 'down', hour: number) =>
  outcomeLabelled({
    coin,
    timeframe,
    race,
    call: 'BUY',
    barClose: START + hour * HOUR_MS,
    validUntil: START + (hour + 1) * HOUR_MS,
  })

const rows = fold(
  trackRecord,
  given(
    outcome('BTC', '1h', 'up', 0),
    outcome('BTC', '1h', 'down', 8),
    outcome('BTC', '4h', 'up', 0),
    outcome('ETH', '1h', 'down', 0),
  ),
)
const entries = Object.entries(rows).toSorted(([a], [b]) => (a < b ? -1 : 1))
const source = {
  range: ({ prefix, after = '', limit }: { prefix: string; after?: string; limit: number }) =>
    entries
      .filter(([key]) => key.startsWith(prefix) && key > after)
      .slice(0, limit)
      .map(([key, row]) => ({ key, row })),
}

test('series of a coin are added up, and a timeframe can be asked for alone', () => {
  expect(recordCoins(source, {})).toMatchObject([
    { coin: 'BTC', series: 2, verdicts: 3, calls: 3, reached: 3, wins: 2, always_buy: 2 / 3, random: 0.5 },
    { coin: 'ETH', series: 1, verdicts: 1, wins: 0, always_sell: 1 },
  ])
  expect(recordCoins(source, { timeframe: '4h' })).toMatchObject([{ coin: 'BTC', series: 1, wins: 1 }])
  expect(recordCoins({ range: () => [] }, {})).toEqual([])
})

test('its sums are those of the series, whatever the page of the read model', () => {
  const [btc] = recordCoins(source, {})
  const series = entries.filter(([key]) => key.startsWith('series/') && key.includes('.BTC.'))
  const sum = series.reduce((all, [, row]) => all + (row as { apart: { calls: number } }).apart.calls, 0)
  expect(btc?.calls).toBe(sum)
})
