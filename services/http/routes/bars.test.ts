import { expect, test } from 'vitest'
import type { BarsPage } from '../../../contracts/answers/bars.ts'
import { createServer } from '../../composition/server.ts'
import { serverOptions } from '../testing/server-options.fixture.ts'
import type { MarketRoutesOptions } from './markets.ts'

const SERIES = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' } as const

test('bars are asked for by instants, dates or Unix milliseconds, and the answer is the same', async () => {
  const asked: unknown[] = []
  const bars: NonNullable<MarketRoutesOptions['bars']> = async ({ series, from, to }) => {
    asked.push({ series, from, to })
    const answer: BarsPage = {
      ...series,
      market: 'simulated',
      source: 'a test',
      from,
      to,
      bars: [],
      gaps: [],
      funding: [],
      next: null,
    }
    return answer
  }
  const app = await createServer(serverOptions({ bars }))
  const ask = async (from: string, to: string) => {
    const query = new URLSearchParams({ exchange: 'sim', coin: 'Bitcoin', timeframe: '60m', from, to })
    return (await app.inject(`/api/bars?${query.toString()}`)).json<Record<string, unknown>>()
  }
  const [from, to] = [Date.UTC(2025, 0, 1), Date.UTC(2025, 0, 2)]
  const answers = await Promise.all([
    ask(String(from), String(to)),
    ask('2025-01-01', '2025-01-02'),
    ask('2025-01-01T01:00:00+01:00', '2025-01-02T00:00:00Z'),
  ])
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
  expect(asked).toEqual(answers.map(() => ({ series: SERIES, from, to })))
  for (const wrong of ['yesterday', '-1', '2025-13-01', '1e3', '']) {
    expect(await ask(wrong, String(to)), wrong).toMatchObject({
      code: 'invalid_request',
      message: 'from: must be an ISO 8601 instant or date, or Unix milliseconds',
    })
  }
  expect(await ask('2025-01-01T00:00', String(to))).toMatchObject({
    message: 'from: has no zone: add Z, as in 2025-01-01T00:00Z, or an offset as +02:00',
  })
  const mistyped = await app.inject('/api/bars?exchange=SIM&coin=BTC&timefrme=1h&from=0&to=1')
  expect(mistyped.json<{ message: string }>().message).toContain('did you mean timeframe?')
  await app.close()
})
