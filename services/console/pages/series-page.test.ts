import { expect, test } from 'vitest'
import type { HistoryRow } from '../../../contracts/series-history.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import { verdictRow } from '../../../contracts/verdict-row.ts'
import { seriesPage } from './series-page.ts'

const RECORDED_AT = '2025-01-01T00:00:01.000Z'

function pageOf(change: Partial<Verdict>): string {
  const verdict = aVerdict(change)
  const { exchange, coin, timeframe } = verdict
  const row: HistoryRow = { ...verdictRow(verdict, '', RECORDED_AT), is_open: false, outcome: null }
  const history = { series: { exchange, coin, timeframe }, rows: [row], withheld: 0, next: null }
  const { body } = seriesPage({
    history: { ...history, market: 'recorded', newest_regime: null } as never,
    zoom: '60',
    bars: [],
    after: undefined,
  })
  return String(body)
}

test('the page of a series says what its probability is of', () => {
  expect(pageOf({ probability: 0.54 })).toContain('0.54 that +1σ is reached before −1σ')
})
