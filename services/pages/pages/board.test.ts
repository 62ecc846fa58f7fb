import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SeriesHistory } from '../../../contracts/answers/history.ts'
import type { TrackRecordRow } from '../../../contracts/answers/track-record.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { START } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createBoard } from '../../analyst/index.ts'
import { createServer } from '../../composition/server.ts'
import { NO_READ_MODELS } from '../../http/testing/no-read-models.ts'
import { serverOptions } from '../../http/testing/server-options.fixture.ts'
import { ASSETS } from '../assets.ts'

let verdicts: Verdict[]
let wall: number
/** How often the line of a row was read. */
let lines: number
let app: Awaited<ReturnType<typeof createServer>>
beforeEach(async () => {
  verdicts = [aVerdict({ coin: 'ETH', call: 'BUY', confidence: 56, reasoning: '<script>alert(1)</script>' })]
  ;[wall, lines] = [0, 0]
  const board = createBoard({
    market: 'simulated',
    newest: () => verdicts,
    decided: () => undefined,
    marketNow: () => verdicts[0]?.barClose ?? 0,
    staleAfterMs: 0,
    now: () => wall,
  })
  app = await createServer(
    serverOptions({
      ...NO_READ_MODELS,
      board,
      seriesHistory: async (query, signal) => {
        lines += 1
        const rows = [{ price: 2 }, { price: 1 }] as SeriesHistory['rows']
        return { ...(await NO_READ_MODELS.seriesHistory(query, signal)), rows }
      },
      publicUrl: () => 'https://signals.example.com',
    }),
  )
})
afterEach(() => app.close())

const asBrowser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

test('browsers get the board, programs the description', async () => {
  const page = await app.inject({ url: '/', headers: asBrowser })
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(page.headers['content-security-policy']).toBe(
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  )
  expect(page.headers.vary).toBe('accept, accept-encoding')
  expect(page.body).toContain('href="/series/SIM/ETH/1h"')
  expect(page.body).toContain(
    '<span class="tag good">BUY</span></a></td><td class="num" data-name="Confidence">56 %',
  )
  expect(page.body).toContain('<polyline class="line c2" points="')
  expect(page.body).toContain('curl https://signals.example.com/mcp')
  expect(page.body).not.toMatch(/<script>|style=|onclick=/)
  expect((await app.inject('/')).json()).toMatchObject({ service: 'signal-service', endpoints: {} })
})

test.each([
  [7, 13, '<dd>7 of 13 so far</dd>'],
  [54, 100, '<dd>54.0 %</dd>'],
])('%i of %i right calls are shown as they can be: %s', async (wins, reached, shown) => {
  const apart = { wins, reached, trades: reached, net_mean_bps: 1 }
  const ranges = { forecasts: 0, coverage_80: null }
  const rows = [{ non_overlapping: apart, ranges }] as unknown as TrackRecordRow[]
  const board = createBoard({
    market: 'simulated',
    newest: () => verdicts,
    decided: () => undefined,
    marketNow: () => 0,
    staleAfterMs: 0,
    now: () => wall,
  })
  const trackRecord = () => ({ asOf: START, rows, next: undefined })
  const other = await createServer(serverOptions({ ...NO_READ_MODELS, board, trackRecord }))
  expect((await other.inject({ url: '/', headers: asBrowser })).body).toContain(shown)
  await other.close()
})

test('a form sends what was not chosen as empty; what does not exist is refused in words', async () => {
  const found = await app.inject({ url: '/?coin=eth&timeframe=&call=BUY', headers: asBrowser })
  expect(found.body).toContain('<option value="BUY" selected>')
  expect((await app.inject({ url: '/?call=HOLD', headers: asBrowser })).body).toContain('No series fits')
  expect((await app.inject({ url: '/?timeframe=7m', headers: asBrowser })).statusCode).toBe(400)
})

test('a browser has the page once: compressed, and again only when the board changed', async () => {
  const ask = (etag = '') =>
    app.inject({ url: '/', headers: { ...asBrowser, 'accept-encoding': 'gzip', 'if-none-match': etag } })
  const first = await ask()
  expect(first.headers).toMatchObject({ 'content-encoding': 'gzip', 'cache-control': 'no-cache' })
  const again = await ask(String(first.headers.etag))
  expect([again.statusCode, again.rawPayload.length]).toEqual([304, 0])
  verdicts = [{ ...(verdicts[0] as Verdict), call: 'SELL', confidence: 57, barClose: HOUR_MS }]
  wall = 1_000
  const changed = await ask(String(first.headers.etag))
  expect(changed.statusCode).toBe(200)
  expect(gunzipSync(changed.rawPayload).toString()).toContain('<span class="tag bad">SELL</span>')
  expect(lines).toBe(1)
})

test.each([
  ['', ['ETH', 'BTC', 'SOL']],
  ['?sort=coin', ['BTC', 'ETH', 'SOL']],
  ['?sort=newest', ['SOL', 'ETH', 'BTC']],
])('the rows of /%s come in its order', async (query, order) => {
  const [one] = verdicts as [Verdict]
  verdicts = [
    one,
    { ...one, coin: 'BTC', confidence: 52, barClose: one.barClose - HOUR_MS },
    { ...one, coin: 'SOL', call: 'HOLD', barClose: one.barClose + HOUR_MS },
  ]
  const { body } = await app.inject({ url: `/${query}`, headers: asBrowser })
  expect([...body.matchAll(/scope="row"><a href="\/series\/SIM\/(\w+)\//g)].map(([, coin]) => coin)).toEqual(
    order,
  )
})

test('what pages load is kept for ever under a name of its own', async () => {
  for (const { path, type, body } of ASSETS) {
    const answer = await app.inject(path)
    expect(answer.headers).toMatchObject({
      'content-type': type,
      'cache-control': expect.stringContaining('immutable'),
    })
    expect(answer.rawPayload.equals(body)).toBe(true)
  }
  expect(LIMITS.boardRows).toBeGreaterThan(3_080)
})

describe('a live market of which a venue cannot be reached', () => {
  const away = { exchange: 'OKX', since: '2026-03-03T12:00:00.000Z', reason: 'no such host' }
  const sentence = 'OKX cannot be reached since 2026-03-03 12:00 UTC (no such host). It is tried again.'
  const boardOf = (newest: Verdict[]) =>
    createBoard({
      market: 'live',
      newest: () => newest,
      decided: () => undefined,
      marketNow: () => verdicts[0]?.barClose ?? 0,
      staleAfterMs: 0,
      now: () => wall,
    })

  test.each([
    ['before the first verdict', false],
    ['while others go on', true],
  ])('says so instead of that its history is being read: %s', async (_, hasVerdicts) => {
    const board = boardOf(hasVerdicts ? verdicts : [])
    const other = await createServer(serverOptions({ ...NO_READ_MODELS, board, unreachable: () => [away] }))
    const { body } = await other.inject({ url: '/', headers: asBrowser })
    expect(body).toContain(sentence)
    expect(body).not.toContain('the history of the market is being read')
    await other.close()
  })

  test('is shown, and no longer once it answers, to who looks at the same page', async () => {
    let unreachable: (typeof away)[] = []
    const board = boardOf([])
    const other = await createServer(
      serverOptions({ ...NO_READ_MODELS, board, unreachable: () => unreachable }),
    )
    const shown = async () => {
      const { body } = await other.inject({ url: '/', headers: asBrowser })
      return [body.includes(sentence), body.includes('history of the market is being read')]
    }
    expect(await shown()).toEqual([false, true])
    unreachable = [away]
    expect(await shown()).toEqual([true, false])
    unreachable = []
    expect(await shown()).toEqual([false, true])
    await other.close()
  })
})
