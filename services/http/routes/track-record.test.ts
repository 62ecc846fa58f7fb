import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { trackRecordAnswerSchema } from '../../../contracts/answers/track-record.ts'
import { fold, given, outcomeLabelled } from '../../../projections/given-events.fixture.ts'
import { trackRecord } from '../../../projections/index.ts'
import { type TrackRecordQuery, trackRecordReport } from '../../analyst/index.ts'
import { createServer } from '../../composition/server.ts'
import { serverOptions } from '../testing/server-options.fixture.ts'

let app: FastifyInstance
let asked: TrackRecordQuery[]

beforeEach(async () => {
  asked = []
  const rows = fold(
    trackRecord,
    given(...['BTC', 'ETH', 'SOL'].map((coin) => outcomeLabelled({ coin, call: 'BUY' }))),
  )
  const entries = Object.entries(rows).toSorted(([a], [b]) => (a < b ? -1 : 1))
  app = await createServer(
    serverOptions({
      trackRecord(query) {
        asked.push(query)
        const source = {
          position: () => '17',
          range: ({ prefix, after = '' }: { prefix: string; after?: string }) =>
            entries
              .filter(([key]) => key.startsWith(prefix) && key > after)
              .map(([key, row]) => ({ key, row })),
        }
        return trackRecordReport(source, query)
      },
    }),
  )
})
afterEach(() => app.close())

const get = (query: string) => app.inject({ method: 'GET', url: `/api/track-record${query}` })

describe('GET /api/track-record', () => {
  test('gives every timeframe of every model, and says what the numbers are', async () => {
    const response = await get('')
    expect(response.headers['cache-control']).toBe('public, max-age=60')
    const answer = trackRecordAnswerSchema.strict().parse(response.json())
    expect(answer).toMatchObject({ as_of: '17', next: null, notice: expect.stringContaining('not advice') })
    expect(answer.rows.map(({ timeframe, coin, verdicts }) => [timeframe, coin, verdicts])).toEqual([
      ['1h', null, 3],
    ])
  })

  test('gives series page by page', async () => {
    const coins: unknown[] = []
    for (let after = ''; ; ) {
      const answer = trackRecordAnswerSchema.parse((await get(`?group_by=series&limit=1${after}`)).json())
      coins.push(...answer.rows.map(({ coin }) => coin))
      if (answer.next === null) break
      after = `&after=${answer.next}`
    }
    expect(coins).toEqual(['BTC', 'ETH', 'SOL'])
  })

  test('does not take a page of the other grouping for the end', async () => {
    const { next } = trackRecordAnswerSchema.parse((await get('?group_by=series&limit=1')).json())
    const response = await get(`?after=${next}`)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({
      code: 'invalid_request',
      details: { fields: [{ field: 'after' }] },
    })
  })

  test('hands every filter on', async () => {
    await get('?group_by=series&exchange=SIM&coin=ETH&timeframe=1h&model_version=first-1&limit=5')
    expect(asked).toEqual([
      { groupBy: 'series', exchange: 'SIM', coin: 'ETH', timeframe: '1h', modelVersion: 'first-1', limit: 5 },
    ])
  })

  test.each([
    ['?coin=btc', 'coin'],
    ['?coin=BTC', 'group_by'],
    ['?exchange=SIM&group_by=timeframe', 'group_by'],
    ['?exchange=NASDAQ&group_by=series', 'exchange'],
    ['?timeframe=7m', 'timeframe'],
    ['?group_by=coin', 'group_by'],
    ['?limit=0', 'limit'],
    ['?limit=100000', 'limit'],
    ['?after=**', 'after'],
    [`?after=${'a'.repeat(300)}`, 'after'],
    ['?since=2025', 'since'],
  ])('refuses %s and names the field', async (query, field) => {
    const response = await get(query)
    expect(response.statusCode).toBe(400)
    expect(response.json<{ message: string }>().message).toContain(field)
  })
})
