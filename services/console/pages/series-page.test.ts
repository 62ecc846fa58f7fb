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

test('the page of a series says both probabilities in words, and how often that held', () => {
  const page = pageOf({ probability: 0.54, closesHigher: 0.4712 })
  expect(page).toContain(
    'Odds: upper barrier first 54 %, closes higher 47 %: small losses often, large gains rarely. <a href="/track-record#closes">',
  )
  expect(page).toContain('0.4712 that the window closes above its entry')
})

test('of a verdict without the second probability it says the first alone', () => {
  const page = pageOf({ probability: 0.54 })
  expect(page).toContain('0.54 that +1σ is reached before −1σ')
  expect(page).not.toMatch(/Odds|closes above/)
})
