import type { Json, JsonObject } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { ToolDefinition } from '../../contracts/tools/tool-catalogue.ts'
import { JSON_RPC_CODES, rpcFault } from './mcp-messages.ts'
import { NOTICE } from './resources.ts'
import { TOOL_GROUPS } from './tool-groups.ts'

/** A call that a prompt asks for. `{name}` in a value stands for an argument, `{tool.field}` for a field of an answer before. */
export interface Ask {
  readonly tool: string
  readonly request: JsonObject
}

export interface Prompt {
  readonly name: string
  readonly title: string
  /** When to use it, in one sentence. */
  readonly description: string
  /** Arguments with an example; one that has a default may be left out. */
  readonly fields: Readonly<
    Record<string, { readonly description: string; readonly example: string; readonly default?: string }>
  >
  readonly asks: readonly Ask[]
  /** How the answers are to be told. */
  readonly report: string
}

const coin = { description: 'Coin symbol', example: 'BTC' }
const timeframe = { description: 'Length of a bar: 1m to 1d', example: '1h', default: '1h' }

/** The questions that people come with, and the calls that answer them: prompts of the protocol and skills are both made from this. */
export const PROMPTS: readonly Prompt[] = [
  {
    name: 'read-one-coin',
    title: 'Read one coin',
    description: 'Says what the newest closed bar of a coin speaks for, why, and in what market.',
    fields: { coin, timeframe },
    asks: [
      { tool: 'get_trade_call', request: { coin: '{coin}', timeframe: '{timeframe}' } },
      { tool: 'get_market_regime', request: { coin: '{coin}', timeframe: '{timeframe}' } },
    ],
    report:
      'Give the call, its confidence and `valid_until`, the two factors that contribute most, and the regime with how long it has lasted. HOLD at 50 means that there is no edge: say so.',
  },
  {
    name: 'find-what-stands-out',
    title: 'Find what stands out',
    description: 'Ranks the calls of the largest coins, and explains the first.',
    fields: { timeframe },
    asks: [{ tool: 'scan_trade_calls', request: { timeframe: '{timeframe}', limit: 5 } }],
    report:
      'List the rows by rank with call, confidence and strength. Strength ranks and is no probability. For a row to explain, ask get_trade_call with its coin and this timeframe. If there are no rows, say how many coins were scanned and how many held.',
  },
  {
    name: 'compare-funding',
    title: 'Compare funding',
    description: 'Finds coins whose funding rates differ between exchanges by more than the fees.',
    fields: {
      hours: { description: 'How long a pair of positions would be held', example: '24', default: '24' },
    },
    asks: [{ tool: 'scan_funding_arb', request: { holding_hours: '{hours}', limit: 5 } }],
    report:
      'Give for each opportunity both legs with their rates and intervals, and the net yield after fees. Say that rates change at each settlement. If there is none, say how many pairs were compared.',
  },
  {
    name: 'follow-the-regime',
    title: 'Follow the regime',
    description: 'Tells when the regime of a market changed lately, and to what.',
    fields: { coin, timeframe },
    asks: [
      { tool: 'get_regime_shifts', request: { coin: '{coin}', timeframe: '{timeframe}', limit: 10 } },
      { tool: 'get_market_regime', request: { coin: '{coin}', timeframe: '{timeframe}' } },
    ],
    report:
      'Give the regime of now and since when, then the shifts before it, newest first. Many shifts in few bars mean that none of them has lasted.',
  },
  {
    name: 'weigh-the-record',
    title: 'Weigh the record',
    description: 'Answers a question about this service from its documentation, with the page that says so.',
    fields: { question: { description: 'What you want to know', example: 'How often were calls right?' } },
    asks: [
      { tool: 'search_knowledge', request: { query: '{question}', limit: 3 } },
      { tool: 'chat_knowledge', request: { question: '{question}' } },
    ],
    report:
      'Answer in two sentences and name the page. For figures read the resource signal://track-record, and say beside each what a constant call would have had.',
  },
  {
    name: 'be-told-of-calls',
    title: 'Be told of calls',
    description: 'Sends the calls of a coin to an address of yours as they are recorded, and tries it.',
    fields: { url: { description: 'A public HTTPS address', example: 'https://bot.example.com/hook' }, coin },
    asks: [
      {
        tool: 'create_webhook',
        request: { url: '{url}', events: ['trade_call'], assets: ['{coin}'], only_changes: true },
      },
      { tool: 'test_webhook', request: { id: '{create_webhook.id}' } },
    ],
    report:
      'Show the secret once and say that it is not shown again. Say what the endpoint answered to the sample, and name the warnings of the webhook.',
  },
]

export const TOOLS_BY_NAME = new Map<string, ToolDefinition>(
  TOOL_GROUPS.flatMap(({ tools }) => Object.entries<ToolDefinition>(tools)),
)

const invalid = (message: string) =>
  rpcFault({ code: JSON_RPC_CODES.invalidParams, message: `Invalid params: ${message}` })

/** A request with its arguments in place; what names an answer stays. */
function filled(value: Json, values: Readonly<Record<string, string>>): Json {
  if (Array.isArray(value)) return value.map((one) => filled(one, values))
  if (typeof value !== 'string') return value
  const given = values[/^\{([a-z]+)\}$/.exec(value)?.[1] ?? ''] ?? value
  return /^\d{1,6}$/.test(given) ? Number(given) : given
}

/** The calls of a prompt. @throws an error of the protocol for arguments that a tool would refuse */
export function asksOf({ name, fields, asks }: Prompt, sent: Readonly<Record<string, string>>): Ask[] {
  const unknown = Object.keys(sent).find((field) => !Object.hasOwn(fields, field))
  if (unknown !== undefined) throw invalid(`${name} takes ${Object.keys(fields).join(', ')}`)
  const values = Object.fromEntries(
    Object.entries(fields).map(([field, { default: usual }]) => {
      const value = sent[field] ?? usual
      if (value === undefined) throw invalid(`${name} needs ${field}`)
      if (value.length > LIMITS.webhookUrlCharacters) throw invalid(`${field} is too long`)
      return [field, value]
    }),
  )
  return asks.map(({ tool, request }) => {
    const asked = Object.fromEntries(
      Object.entries(request).map(([field, value]) => [field, filled(value, values)]),
    )
    const waits = Object.values(asked).some(
      (value) => typeof value === 'string' && /^\{\w+\.\w+\}$/.test(value),
    )
    const checked = waits ? undefined : TOOLS_BY_NAME.get(tool)?.request.safeParse(asked)
    const issue = checked?.error?.issues[0]
    if (issue !== undefined) throw invalid(`${issue.path.join('.')}: ${issue.message}`)
    return { tool, request: asked }
  })
}

/** The text of a prompt, for a model. */
export const textOf = (prompt: Prompt, asks: readonly Ask[]): string =>
  [
    `${prompt.description} Call, in this order:`,
    asks.map(({ tool, request }, at) => `${at + 1}. ${tool} ${JSON.stringify(request)}`).join('\n'),
    `${prompt.report} ${NOTICE}`,
  ].join('\n\n')

/** The prompts all of whose tools are served. */
export function servedPrompts(tools: readonly { readonly name: string }[]) {
  const names = new Set(tools.map(({ name }) => name))
  const served = PROMPTS.filter(({ asks }) => asks.every(({ tool }) => names.has(tool)))
  return {
    list: served.map(({ name, title, description, fields }) => ({
      name,
      title,
      description,
      arguments: Object.entries(fields).map(([field, { description: about, example, default: usual }]) => ({
        name: field,
        description: `${about}, for example ${example}`,
        required: usual === undefined,
      })),
    })),
    /** @throws an error of the protocol for a prompt that is not served, and for arguments that a tool would refuse */
    get(name: string, sent: Readonly<Record<string, string>> = {}) {
      const prompt = served.find((one) => one.name === name)
      if (prompt === undefined) throw invalid(`there is no such prompt; prompts/list names ${served.length}`)
      const text = textOf(prompt, asksOf(prompt, sent))
      return {
        description: prompt.description,
        messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }],
      }
    },
  }
}
