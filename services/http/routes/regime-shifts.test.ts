import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { regimeShiftsAnswerSchema } from '../../../contracts/answers/history.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { REGIMES } from '../../../contracts/domain/verdict.ts'
import { fold, given, verdictRecorded } from '../../../projections/given-events.fixture.ts'
import { regimeShifts } from '../../../projections/index.ts'
import { regimeShiftHistory } from '../../analyst/index.ts'
import { createServer } from '../../composition/server.ts'
import { mcpOptions } from '../../mcp/testing/mcp-edge.fixture.ts'
import { serverOptions } from '../testing/server-options.fixture.ts'

let app: FastifyInstance
const asked: unknown[] = []
/** Market time, in hours. */
let now: number

/** A verdict an hour, each of another regime than the one before. */
const verdicts = ['BTC', 'ETH'].flatMap((coin) =>
  Array.from({ length: 30 }, (_, hour) =>
    verdictRecorded({ coin, barClose: hour * HOUR_MS, regime: REGIMES[hour % REGIMES.length] ?? 'RANGING' }),
  ),
)

beforeEach(async () => {
  now = 1_000
  const entries = Object.entries(fold(regimeShifts, given(...verdicts))).toSorted(([a], [b]) =>
    a < b ? 1 : -1,
  )
  app = await createServer(
    serverOptions({
      mcp: mcpOptions(),
      regimeShifts: (query) => {
        asked.push(query.series)
        return regimeShiftHistory(
          {
            position: () => '60',
            range: ({ prefix, after = '~', limit }) =>
              entries
                .filter(([key]) => key.startsWith(prefix) && key < after)
                .slice(0, limit)
                .map(([, row]) => ({ row })),
          },
          { ...query, now: now * HOUR_MS },
        )
      },
    }),
  )
})
afterEach(() => app.close())

async function get(query: string) {
  const url = `/api/regime-shifts?exchange=sim&coin=btc&timeframe=1h${query}`
  return regimeShiftsAnswerSchema.parse((await app.inject({ method: 'GET', url })).json())
}
const hoursOf = (rows: readonly { readonly bar_close: string }[]): number[] =>
  rows.map(({ bar_close }) => Date.parse(bar_close) / HOUR_MS)

describe('GET /api/regime-shifts', () => {
  test('tells the shifts of one series, newest first, page by page, each once', async () => {
    const seen: number[] = []
    for (let after = ''; ; ) {
      const { rows, next } = await get(`&limit=7${after}`)
      seen.push(...hoursOf(rows))
      if (next === null) break
      after = `&after=${next}`
    }
    expect(seen).toEqual(Array.from({ length: 29 }, (_, index) => 29 - index))
    const { rows } = await get('&limit=1')
    expect(rows[0]).toMatchObject({
      exchange: 'SIM',
      coin: 'BTC',
      timeframe: '1h',
      regime: 'TRENDING_DOWN',
      prior_regime: 'TRENDING_UP',
    })
  })

  test('withholds those whose window is open, as the replay withholds their verdicts', async () => {
    now = 28
    expect(hoursOf((await get('')).rows)[0]).toBe(20)
    now = 5
    expect(await get('')).toMatchObject({ rows: [], next: null })
  })

  test('is of 4h on the first exchange that is followed where neither is named, as the tool is', async () => {
    const answer = await app.inject({ method: 'GET', url: '/api/regime-shifts?coin=Bitcoin' })
    expect([answer.statusCode, asked.at(-1)]).toEqual([
      200,
      { exchange: 'SIM', coin: 'BTC', timeframe: '4h' },
    ])
    const { mcp: _, ...apart } = serverOptions({ mcp: mcpOptions() })
    const without = await createServer(apart)
    const refused = await without.inject({ method: 'GET', url: '/api/regime-shifts?coin=BTC' })
    expect(refused.json()).toMatchObject({ code: 'invalid_request', message: 'exchange: is missing' })
    await without.close()
  })

  test.each([
    '',
    '?exchange=SIM&coin=BTC&timeframe=1h&after=x',
    '?exchange=SIM&coin=BTC&timeframe=1h&limit=0',
  ])('refuses %s', async (query) => {
    const answer = await app.inject({ method: 'GET', url: `/api/regime-shifts${query}` })
    expect(answer.json()).toMatchObject({ code: 'invalid_request' })
  })
})
