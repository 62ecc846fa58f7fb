import { afterEach, beforeEach, expect, test } from 'vitest'
import { isoTime } from '../../../contracts/iso-time.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { historyRowSchema } from '../../../contracts/series-history.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import { verdictRow } from '../../../contracts/verdict-row.ts'
import type { SeriesHistoryQuery } from '../../analyst/index.ts'
import { createServer } from '../../composition/server.ts'
import { NO_READ_MODELS } from '../../http/testing/no-read-models.ts'
import { serverOptions } from '../../http/testing/server-options.fixture.ts'

const NOW = 100 * HOUR_MS + 60_000
let count: number
let questions: SeriesHistoryQuery[]
let stretches: { from: number; to: number }[]
let app: Awaited<ReturnType<typeof createServer>>

const rowOf = (n: number) => {
  const verdict = aVerdict({ barClose: (n + 1) * HOUR_MS, regimeSince: 0, price: 100 + n })
  const { cursor: _cursor, ...shown } = verdictRow(verdict, '', isoTime(0))
  return historyRowSchema.parse({ ...shown, is_open: false, outcome: null })
}

beforeEach(async () => {
  ;[count, questions, stretches] = [0, [], []]
  app = await createServer(
    serverOptions({
      ...NO_READ_MODELS,
      seriesHistory: async (query) => {
        questions.push(query)
        const rows = Array.from({ length: Math.min(count, query.limit) }, (_, index) => rowOf(count - index))
        const about = { market: 'simulated' as const, newest_regime: null, withheld: 0, next: null }
        return { ...about, market_time: isoTime(NOW), series: query.series, rows }
      },
      bars: async ({ series, from, to }) => {
        stretches.push({ from, to })
        const bar = { openTime: to - 2 * HOUR_MS, open: 100, high: 103, low: 99, close: 101, volume: 1 }
        const about = { market: 'simulated' as const, source: 'test', gaps: [], funding: [], next: null }
        return { ...about, ...series, from, to, bars: [bar] }
      },
    }),
  )
})
afterEach(() => app.close())

test('before the first verdict the bars are drawn grey, as far as the market has come', async () => {
  const page = await app.inject('/series/SIM/ETH/1h?bars=60')
  expect(page.body).toContain('There is no verdict of this series yet')
  expect(page.body).toContain('class="up before"')
  expect(stretches).toEqual([{ from: NOW - 60 * HOUR_MS, to: NOW }])
})

test('of 300 verdicts 50 are shown unfolded, and the page stays light', async () => {
  count = 300
  const { body } = await app.inject('/series/SIM/ETH/1h')
  const [shown, folded = ''] = body.split('<details><summary>250 older ones')
  expect(shown?.match(/>proof</g)).toHaveLength(51)
  expect(folded.match(/>proof</g)).toHaveLength(250)
  expect(body.length).toBeLessThan(300_000)
})

test('the picture of a row is drawn from 40 verdicts, once for all visitors, and of unknown series none is kept', async () => {
  count = 60
  const first = await app.inject('/series/SIM/ETH/1h/spark.svg')
  expect(first.headers).toMatchObject({
    'content-type': 'image/svg+xml',
    'cache-control': 'public, max-age=30',
  })
  expect(first.headers['content-security-policy']).toContain("default-src 'none'")
  expect(first.body.match(/[\d.]+,[\d.]+/g)).toHaveLength(40)
  const again = await app.inject({
    url: '/series/sim/eth/1h/spark.svg',
    headers: { cookie: '__Host-session=ses_gone' },
  })
  expect([again.statusCode, again.body]).toEqual([200, first.body])
  expect(questions).toMatchObject([{ limit: 40 }])
  count = 0
  for (let asked = 0; asked <= LIMITS.boardParts; asked++) {
    expect((await app.inject(`/series/SIM/X${asked}/1h/spark.svg`)).statusCode).toBe(200)
  }
  count = 60
  const before = questions.length
  await app.inject('/series/SIM/ETH/1h/spark.svg')
  expect(questions).toHaveLength(before)
  expect((await app.inject('/series/SIM/ETH/7m/spark.svg')).statusCode).toBe(400)
})
