import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { fakeKnowledgeService } from '../http/testing/knowledge-service.fixture.ts'
import { aWebhookEdge, type WebhookEdge } from '../http/testing/webhook-edge.fixture.ts'
import { createMcpEdge, messageTo } from './testing/mcp-edge.fixture.ts'
import type { ListedTool } from './tools.ts'

/** Stands for the id of a webhook that is there. */
const ID = '{id}'

/** Requests of people, each with the tool that answers it and its arguments. Written before the descriptions were tried. */
const REQUESTS: readonly (readonly [request: string, tool: string, args: JsonObject])[] = [
  ['Is now a good time to buy bitcoin?', 'get_trade_call', { coin: 'BTC' }],
  ['Should I sell my Ethereum?', 'get_trade_call', { coin: 'Ethereum' }],
  ['Give me a signal for SOL on the 15 minute chart', 'get_trade_call', { coin: 'SOL', timeframe: '15m' }],
  ['Go long or short on DOGE on the hourly?', 'get_trade_call', { coin: 'DOGE', timeframe: '1h' }],
  ['How confident are you in a buy of XRP right now?', 'get_trade_call', { coin: 'XRP' }],
  ['What price range do you expect for BTC in the next hours?', 'get_trade_call', { coin: 'BTC' }],
  ['Which factors speak for buying LINK on Bybit?', 'get_trade_call', { coin: 'LINK', exchange: 'BYBIT' }],
  ['Is bitcoin trending or ranging right now?', 'get_market_regime', { coin: 'BTC' }],
  ['How volatile is ETH on the 4h chart?', 'get_market_regime', { coin: 'ETH', timeframe: '4h' }],
  [
    'Is the market going sideways for SOL on the daily?',
    'get_market_regime',
    { coin: 'SOL', timeframe: '1d' },
  ],
  ['Is DOGE in an uptrend or a downtrend?', 'get_market_regime', { coin: 'DOGE' }],
  ['What are the current market conditions for BNB?', 'get_market_regime', { coin: 'BNB' }],
  ['Which coins should I buy today?', 'scan_trade_calls', {}],
  ['Show me the strongest signals on Binance', 'scan_trade_calls', { exchange: 'BINANCE' }],
  ['Scan the top 50 coins by volume for trades', 'scan_trade_calls', { top_n: 50 }],
  ['What are the best trading opportunities on 15m?', 'scan_trade_calls', { timeframe: '15m' }],
  ['Rank the biggest gainers with their signals', 'scan_trade_calls', { lens: 'gainers' }],
  ['Where can I earn funding between exchanges?', 'scan_funding_arb', {}],
  ['Find funding rate arbitrage with at least 10 bps', 'scan_funding_arb', { min_net_bps: 10 }],
  ['Which delta-neutral carry trades pay after fees?', 'scan_funding_arb', { limit: 5 }],
  ['Compare perpetual funding of BTC across exchanges', 'scan_funding_arb', { coins: ['BTC'] }],
  ['When did the regime of bitcoin last change?', 'get_regime_shifts', { coin: 'BTC', limit: 1 }],
  ['Show the past regime shifts of ETH at 1h', 'get_regime_shifts', { coin: 'ETH', timeframe: '1h' }],
  ['History of when SOL flipped between trending and ranging', 'get_regime_shifts', { coin: 'SOL' }],
  ['Search the documentation for rate limits', 'search_knowledge', { query: 'rate limits' }],
  ['Find the docs about webhook signatures', 'search_knowledge', { query: 'webhook signature' }],
  ['Which sections of the docs list the error codes?', 'search_knowledge', { query: 'error codes' }],
  ['Explain how this service charges for a HOLD', 'chat_knowledge', { question: 'Does a HOLD cost a call?' }],
  ['I have a question about the service', 'chat_knowledge', { question: 'Do I need an account?' }],
  ['Answer me: how do x402 payments work here?', 'chat_knowledge', { question: 'How does x402 work?' }],
  [
    'Send trade calls for BTC to my bot at https://bot.example.com/hook',
    'create_webhook',
    { url: 'https://bot.example.com/hook', events: ['trade_call'], assets: ['BTC'] },
  ],
  ['Which webhooks do I have?', 'list_webhooks', {}],
  ['Show me the filter and counts of this webhook', 'get_webhook', { id: ID }],
  ['Pause my webhook for now', 'pause_webhook', { id: ID }],
  ['Resume the paused webhook', 'resume_webhook', { id: ID, from: 'now' }],
  ['Delete my webhook', 'delete_webhook', { id: ID }],
  ['Test my webhook with a sample', 'test_webhook', { id: ID, event: 'trade_call' }],
  ['Rotate the signing secret of my webhook', 'rotate_webhook_secret', { id: ID, overlap_hours: 1 }],
  ['Which deliveries to my webhook failed?', 'list_webhook_deliveries', { id: ID, result: 'failed' }],
  [
    'Retry the failed deliveries since yesterday',
    'recover_webhook',
    { id: ID, since: '2026-01-01T00:00:00Z' },
  ],
]

let markets: FastifyInstance
let webhooks: WebhookEdge
let kept: string
let tools: readonly ListedTool[]

interface Answer {
  readonly result: { readonly tools: ListedTool[]; readonly isError: boolean; readonly content: JsonObject[] }
}

beforeAll(async () => {
  const regimeShifts = () => ({ asOf: '17', rows: [], next: undefined })
  markets = await createMcpEdge({
    knowledge: fakeKnowledgeService().service,
    history: { regimeShifts },
  })
  webhooks = await aWebhookEdge()
  kept = await webhooks.createId()
  const lists = [markets, webhooks.app].map((app) => messageTo(app, 'tools/list', {}))
  const listed = (await Promise.all(lists)).flatMap((answer) => answer.json<Answer>().result.tools)
  tools = [...new Map(listed.map((tool) => [tool.name, tool])).values()]
})
afterAll(async () => {
  await Promise.all([markets.close(), webhooks.close()])
})

/** The stop words of Lucene's analyzer of English. */
const STOP = new Set(
  'a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with'.split(
    ' ',
  ),
)

/** Words without endings of number and tense, and without stop words. */
const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[a-z0-9]+/g) ?? [])
    .filter((word) => !STOP.has(word))
    .map((word) => (word.length > 4 ? word.replace(/(?:ies|ing|ed|es|s|e|y)$/, '') : word))

/** All that the list says of a tool and of its arguments. */
function documentOf({ name, title, description, inputSchema }: ListedTool): string[] {
  const fields = Object.entries((inputSchema.properties ?? {}) as Record<string, JsonObject>)
  const ofFields = fields.map(([field, about]) => JSON.stringify([field, about.description, about.enum]))
  return wordsOf([name, title, description, ...ofFields].join(' '))
}

/** The names of the tools by Okapi BM25 (Robertson and Zaragoza 2009, k₁ 1.2, b 0.75), the best first. */
function ranked(request: string): string[] {
  const documents = tools.map((tool) => ({ name: tool.name, words: documentOf(tool) }))
  const average = documents.reduce((sum, { words }) => sum + words.length, 0) / documents.length
  const scoreOf = (words: readonly string[]): number =>
    [...new Set(wordsOf(request))].reduce((score, word) => {
      const having = documents.filter((document) => document.words.includes(word)).length
      const times = words.filter((one) => one === word).length
      const rarity = Math.log(1 + (documents.length - having + 0.5) / (having + 0.5))
      return score + (rarity * times * 2.2) / (times + 1.2 * (0.25 + (0.75 * words.length) / average))
    }, 0)
  return documents.toSorted((a, b) => scoreOf(b.words) - scoreOf(a.words)).map(({ name }) => name)
}

test('there are forty requests, for every tool that is listed', () => {
  expect(REQUESTS).toHaveLength(40)
  expect(new Set(REQUESTS.map(([, tool]) => tool))).toEqual(new Set(tools.map(({ name }) => name)))
})

test.each(REQUESTS)('%s', async (request, tool, args) => {
  expect(ranked(request).slice(0, 3)[0], ranked(request).slice(0, 3).join()).toBe(tool)
  const id = tool === 'delete_webhook' ? await webhooks.createId() : args.id === ID ? kept : undefined
  if (tool === 'resume_webhook') await webhooks.ask('POST', `/api/webhooks/${id}/pause`)
  const app = tool.includes('webhook') ? webhooks.app : markets
  const headers = { authorization: `Bearer ${webhooks.key}` }
  const call = { name: tool, arguments: { ...args, ...(id !== undefined && { id }) } }
  const { result } = (await messageTo(app, 'tools/call', call, headers)).json<Answer>()
  expect(result, JSON.stringify(result)).toMatchObject({ isError: false })
})
