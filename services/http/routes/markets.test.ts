import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { marketsAnswerSchema } from '../../../contracts/answers/markets.ts'
import { type Exchange, type Series, seriesName } from '../../../contracts/domain/series.ts'
import { createServer } from '../../composition/server.ts'
import { serverOptions } from '../testing/server-options.fixture.ts'
import type { MarketsSource } from './markets.ts'

const NOW = Date.UTC(2025, 0, 1, 12)
const HOUR_MS = 3_600_000

let app: FastifyInstance
let listed: Awaited<ReturnType<MarketsSource['markets']>>
const bars = new Map<string, number>()
const monitored = new Map<string, boolean>()

beforeEach(async () => {
  listed = []
  bars.clear()
  monitored.clear()
  app = await createServer(
    serverOptions({
      markets: {
        markets: async () => listed,
        newestBar: (series) => bars.get(seriesName(series)),
        isRecorded: () => undefined,
        isMonitored: (series) => monitored.get(seriesName(series)),
        clock: () => NOW,
      },
    }),
  )
})
afterEach(() => app.close())

const given = (...names: readonly string[]): void => {
  listed = names.map((name) => {
    const [exchange, coin = ''] = name.split('.')
    return { exchange: exchange as Exchange, coin, timeframes: ['1h', '4h'] as const }
  })
}

async function ask(query = ''): Promise<z.infer<typeof marketsAnswerSchema>> {
  const response = await app.inject({ method: 'GET', url: `/api/markets${query}` })
  expect(response.statusCode).toBe(200)
  return marketsAnswerSchema.strict().parse(response.json())
}
const namesOf = ({ rows }: Awaited<ReturnType<typeof ask>>): string[] =>
  rows.map(({ exchange, coin }) => `${exchange}.${coin}`)

describe('GET /api/markets', () => {
  test('says of every timeframe whether it is monitored and how old its newest bar is', async () => {
    given('SIM.BTC')
    const hourly: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }
    bars.set(seriesName(hourly), NOW - HOUR_MS)
    monitored.set(seriesName(hourly), true)
    expect(await ask()).toEqual({
      market: 'simulated',
      market_time: '2025-01-01T12:00:00.000Z',
      exchanges: ['SIM'],
      rows: [
        {
          exchange: 'SIM',
          coin: 'BTC',
          timeframes: [
            {
              timeframe: '1h',
              is_monitored: true,
              bar_close: '2025-01-01T11:00:00.000Z',
              data_age_ms: HOUR_MS,
            },
            { timeframe: '4h', is_monitored: null, bar_close: null, data_age_ms: null },
          ],
        },
      ],
      next: null,
    })
  })

  test('a bar that is ahead of the clock has no age below zero', async () => {
    given('SIM.BTC')
    bars.set('SIM.BTC.1h', NOW + 5)
    expect((await ask()).rows[0]?.timeframes[0]?.data_age_ms).toBe(0)
  })

  test('is ordered by exchange, then coin, and filtered by either; the exchanges are always all', async () => {
    given('SIM.ETH', 'BINANCE.BTC', 'SIM.BTC', 'SIM.BTC2', 'HL.BTC')
    expect(namesOf(await ask())).toEqual(['BINANCE.BTC', 'HL.BTC', 'SIM.BTC', 'SIM.BTC2', 'SIM.ETH'])
    expect(namesOf(await ask('?exchange=SIM'))).toEqual(['SIM.BTC', 'SIM.BTC2', 'SIM.ETH'])
    const btc = await ask('?coin=BTC')
    expect([namesOf(btc), btc.exchanges]).toEqual([
      ['BINANCE.BTC', 'HL.BTC', 'SIM.BTC'],
      ['BINANCE', 'HL', 'SIM'],
    ])
    expect((await ask('?coin=DOGE')).rows).toEqual([])
    expect(namesOf(await ask('?coin=btc&exchange=sim'))).toEqual(['SIM.BTC'])
  })

  test('pages give every market once, also when one that was the cursor is gone', async () => {
    const names = Array.from({ length: 25 }, (_, n) => `SIM.C${String(n).padStart(2, '0')}`)
    given(...names)
    const seen: string[] = []
    let after = ''
    do {
      const answer = await ask(`?limit=10${after}`)
      seen.push(...namesOf(answer))
      after = answer.next === null ? '' : `&after=${answer.next}`
    } while (after !== '')
    expect(seen).toEqual(names)
    given(...names.filter((name) => name !== 'SIM.C09'))
    expect(namesOf(await ask('?limit=1&after=SIM.C09'))).toEqual(['SIM.C10'])
  })

  test.each([
    ['?exchange=NASDAQ', 'exchange'],
    ['?coin=B-C', 'coin'],
    ['?limit=0', 'limit'],
    ['?limit=1e9', 'limit'],
    ['?after=../etc', 'after'],
    ['?exchange=SIM&exchange=HL', 'exchange'],
    ['?coins=BTC', 'coins'],
  ])('refuses %s and names the field', async (query, field) => {
    const response = await app.inject({ method: 'GET', url: `/api/markets${query}` })
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({ code: 'invalid_request' })
    expect(response.json<{ message: string }>().message).toContain(field)
  })
})
