import { expect, test } from 'vitest'
import type { HistoryRow } from '../../../contracts/series-history.ts'
import type { Timeframe } from '../../../contracts/timeframes.ts'
import type { SpeechAnswerRow } from '../../../contracts/track-record-row.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import { verdictRow } from '../../../contracts/verdict-row.ts'
import { seriesPage } from './series-page.ts'

const RECORDED_AT = '2025-01-01T00:00:01.000Z'

function pageOf(change: Partial<Verdict>, speech: readonly SpeechAnswerRow[] = []): string {
  const verdict = aVerdict(change)
  const { exchange, coin, timeframe } = verdict
  const row: HistoryRow = { ...verdictRow(verdict, '', RECORDED_AT), is_open: false, outcome: null }
  const history = { series: { exchange, coin, timeframe }, rows: [row], withheld: 0, next: null }
  const { body } = seriesPage({
    history: { ...history, market: 'recorded', newest_regime: null } as never,
    zoom: '60',
    bars: [],
    after: undefined,
    speech,
  })
  return String(body)
}

test('the page of a series has the range first, then the volatility, then the call', () => {
  const page = pageOf({ probability: 0.54 })
  const places = ['Price range, 4 of 5', 'Volatility', 'Says now', 'Confidence'].map((title) =>
    page.indexOf(title),
  )
  expect(places.every((place) => place > 0)).toBe(true)
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(page).toContain('0.54 that +1σ is reached before −1σ')
  expect(page).not.toMatch(/Odds|closes above/)
})

const stateOf = (
  timeframe: Timeframe,
  state: SpeechAnswerRow['state'],
  reason: string | null,
): SpeechAnswerRow => ({
  model_version: 'barrier-6',
  timeframe,
  state,
  reason,
  since: null,
  window_days: 730,
  auc_180d: null,
  races_180d: 0,
  days_running: 0,
})

test.each([
  ['silent', /<div class="dim"><p>No calls at 1h: no skill was measured at 1h\. Calls are made at 15m\./],
  ['withdrawn', /class="note warn"><p>No calls at 1h: no skill was measured at 1h\./],
] as const)('of a timeframe that is %s it says why, and where calls are made', (state, words) => {
  const speech = [stateOf('1h', state, 'no skill was measured at 1h'), stateOf('15m', 'calls', null)]
  expect(pageOf({}, speech)).toMatch(words)
})

test('of one that calls it says nothing of that', () => {
  expect(pageOf({}, [stateOf('1h', 'calls', null)])).not.toContain('No calls at')
})
