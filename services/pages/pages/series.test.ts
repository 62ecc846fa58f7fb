import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type HistoryRow, historyRowSchema } from '../../../contracts/answers/history.ts'
import type { SpeechAnswerRow } from '../../../contracts/answers/track-record.ts'
import { verdictRow } from '../../../contracts/answers/verdict-row.ts'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { HOUR_MS, type Timeframe } from '../../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { createServer } from '../../composition/server.ts'
import { NO_READ_MODELS } from '../../http/testing/no-read-models.ts'
import { serverOptions } from '../../http/testing/server-options.fixture.ts'
import { CHART_LIBRARY } from '../assets.ts'
import { seriesPage } from './series.ts'

const RECORDED_AT = '2025-01-01T00:00:01.000Z'

function pageOf(change: Partial<Verdict>, speech: readonly SpeechAnswerRow[] = []): string {
  const verdict = aVerdict(change)
  const { exchange, coin, timeframe } = verdict
  const row: HistoryRow = { ...verdictRow(verdict, '', RECORDED_AT), is_open: false, outcome: null }
  const history = { series: { exchange, coin, timeframe }, rows: [row], withheld: 0, next: null }
  const { body } = seriesPage({
    history: { ...history, market: 'recorded', market_time: RECORDED_AT, newest_regime: null } as never,
    after: undefined,
    speech,
  })
  return String(body)
}

test('the page of a series has the range first, then the volatility, then the call', () => {
  const page = pageOf({ probability: 0.54 })
  const places = ['Price range, 4 of 5 cases', 'Volatility', 'Call now', 'Confidence'].map((title) =>
    page.indexOf(title),
  )
  expect(places.every((place) => place > 0)).toBe(true)
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(page).toContain('0.54 that the upper barrier comes first')
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

describe('over HTTP', () => {
  const NOW = 100 * HOUR_MS + 60_000
  let count: number
  let app: Awaited<ReturnType<typeof createServer>>

  const rowOf = (n: number) => {
    const verdict = aVerdict({ barClose: (n + 1) * HOUR_MS, regimeSince: 0, price: 100 + n })
    const { cursor: _cursor, ...shown } = verdictRow(verdict, '', isoTime(0))
    return historyRowSchema.parse({ ...shown, is_open: false, outcome: null })
  }

  beforeEach(async () => {
    count = 0
    app = await createServer(
      serverOptions({
        ...NO_READ_MODELS,
        seriesHistory: async ({ series, limit }) => {
          const rows = Array.from({ length: Math.min(count, limit) }, (_, index) => rowOf(count - index))
          const about = { market: 'simulated' as const, newest_regime: null, withheld: 0 }
          const next = count > limit ? '7.7' : null
          return { ...about, market_time: isoTime(NOW), series, rows, next }
        },
      }),
    )
  })
  afterEach(() => app.close())

  test('a page has 50 verdicts, the way to older ones, and all that the script of the chart needs', async () => {
    count = 300
    const { body, headers } = await app.inject('/series/SIM/ETH/1h')
    expect(headers['cache-control']).toBe('no-cache')
    expect(body.match(/>proof</g)).toHaveLength(51)
    expect(body).toContain('href="/series/SIM/ETH/1h?after=7.7" rel="next"')
    expect(body).toContain(`data-library="${CHART_LIBRARY.path}" data-exchange="SIM" data-coin="ETH"`)
    expect(body.length).toBeLessThan(60_000)
  })

  test.each([
    ['a coin that no market has', '/series/SIM/FOO/1h', 404, 'There is no series FOO 1h on SIM'],
    ['a timeframe that there is none of', '/series/SIM/ETH/7m', 400, ''],
  ])('%s is not there', async (_, path, status, words) => {
    const { statusCode, body } = await app.inject({ url: path, headers: { accept: 'text/html' } })
    expect(statusCode).toBe(status)
    expect(body).toContain(words)
  })
})
