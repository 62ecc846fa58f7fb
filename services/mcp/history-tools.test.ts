import { fromJsonSchema } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { regimeHistory } from '../http/routes/history.ts'
import { createMcpEdge, messageTo } from './testing/mcp-edge.fixture.ts'
import { type FreeToolSources, type ListedTool, listedTools } from './tools.ts'

const SERIES = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' } as const
const asked: unknown[] = []
const history: NonNullable<FreeToolSources['history']> = {
  regimeShifts(query) {
    asked.push(query)
    const about = { ...SERIES, bar_close: '2026-01-01T00:00:00.000Z', confidence: 12 }
    const ids = { verdict_id: '0190a000-0000-7000-8000-000000000001' }
    return { asOf: '17', rows: [{ ...about, regime: 'VOLATILE', prior_regime: 'RANGING', ...ids }], next: 5 }
  },
}

test('the history of regimes is a tool as it is a route: free, and for all who ask', async () => {
  const checkKey = async (key: string) => (key === 'Bearer gone' ? 'key_unknown' : 'ok')
  const app = await createMcpEdge({ history, checkKey })
  const send = async (method: string, params: JsonObject, authorization?: string) =>
    (await messageTo(app, method, params, authorization === undefined ? {} : { authorization })).json<{
      result?: {
        tools: ListedTool[]
        isError: boolean
        structuredContent: JsonObject
        content: { text: string }[]
      }
      error?: JsonObject
    }>()
  const call = (args: JsonObject, key?: string) =>
    send('tools/call', { name: 'get_regime_shifts', arguments: args }, key)

  const listed = (await send('tools/list', {})).result?.tools.at(-1)
  expect(listed?.name).toBe('get_regime_shifts')

  const { result } = await call({ exchange: 'sim', coin: 'btc', timeframe: '1H', after: '9', limit: 3 })
  expect(result?.isError).toBe(false)
  expect(result?.structuredContent).toEqual(
    regimeHistory({ ...history, exchanges: () => [] }, { ...SERIES, limit: 3 }),
  )
  expect(asked[0]).toEqual({ series: SERIES, limit: 3, before: 9 })
  const checked = await fromJsonSchema(listed?.outputSchema ?? {})['~standard'].validate(
    result?.structuredContent,
  )
  expect(checked).not.toHaveProperty('issues')
  asked.length = 0

  expect((await call({ coin: 'Bitcoin' })).result?.isError).toBe(false)
  expect(asked).toEqual([{ series: { ...SERIES, timeframe: '4h' }, limit: 20 }])
  asked.length = 0

  const refused = (await call({ exchange: 'SIM', coin: 'BTC', timeframe: '1h', limit: 101 })).result
  expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'invalid_request' } })
  expect(refused?.content[0]?.text).toContain('-32602')
  expect((await call({ ...SERIES }, 'Bearer gone')).error).toMatchObject({ code: -32003 })
  expect(asked).toEqual([])
  await app.close()
})

test('it is not listed where no record is kept', () => {
  expect(listedTools().map(({ name }) => name)).not.toContain('get_regime_shifts')
})
