import { compile } from 'json-schema-to-typescript'
import { z } from 'zod'
import { barsAnswerSchema } from '../contracts/answers/bars.ts'
import { paymentAnswerSchema } from '../contracts/answers/payment.ts'
import { serviceBlockSchema } from '../contracts/answers/service-block.ts'
import { trackRecordAnswerSchema } from '../contracts/answers/track-record.ts'
import { verdictRowSchema } from '../contracts/answers/verdict-row.ts'
import {
  attemptsAnswerSchema,
  createdSubscriptionAnswerSchema,
  subscriptionAnswerSchema,
  subscriptionsAnswerSchema,
} from '../contracts/answers/webhook.ts'
import { EXCHANGES } from '../contracts/domain/series.ts'
import { TIMEFRAMES } from '../contracts/domain/timeframes.ts'
import { CALLS, REGIMES } from '../contracts/domain/verdict.ts'
import { TOOLS, type ToolDefinition } from '../contracts/tools/tool-catalogue.ts'
import { TOOL_GROUPS } from '../services/mcp/tools.ts'

/** Types that callers write down themselves; a tool is otherwise called by its own name. */
const NAMES: Readonly<Record<string, string>> = {
  get_trade_call: 'TradeCall',
  get_market_regime: 'MarketRegime',
  scan_trade_calls: 'TradeScan',
  scan_funding_arb: 'FundingScan',
  search_knowledge: 'KnowledgeSearch',
  chat_knowledge: 'Chat',
  get_regime_shifts: 'RegimeShifts',
}

/** The answers of whole subscriptions: a model is told of fewer fields than there are. */
const WHOLE: Readonly<Record<string, z.ZodType>> = {
  create_webhook: createdSubscriptionAnswerSchema,
  list_webhooks: subscriptionsAnswerSchema,
  get_webhook: subscriptionAnswerSchema,
  pause_webhook: subscriptionAnswerSchema,
  resume_webhook: subscriptionAnswerSchema,
  list_webhook_deliveries: attemptsAnswerSchema,
}

/** Answers of routes that are no tools. */
const OTHERS: Readonly<Record<string, z.ZodType>> = {
  Bars: barsAnswerSchema,
  Payment: paymentAnswerSchema,
  TrackRecord: trackRecordAnswerSchema,
  Verdict: verdictRowSchema,
  WebhookSubscription: subscriptionAnswerSchema,
}

const pascal = (name: string): string =>
  name.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Words that have a name of their own in the client. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  Timeframe: TIMEFRAMES,
  Call: CALLS,
  Regime: REGIMES,
  Exchange: EXCHANGES,
}

/** The tools by their names, and the schemas of what they take and give, each under one name. */
function schemas() {
  const inputs: Names = z.registry()
  const outputs: Names = z.registry()
  outputs.add(serviceBlockSchema, { id: 'ServiceBlock' })
  for (const [id, schema] of Object.entries(OTHERS)) outputs.add(schema, { id })
  const all = TOOL_GROUPS.flatMap((group) => Object.entries<ToolDefinition>(group.tools))
  const tools = all.map(([name, { request, response }]) => {
    const id = NAMES[name] ?? pascal(name)
    const isPaid = Object.hasOwn(TOOLS, name)
    const told = isPaid ? (response as z.ZodObject).extend({ _service: serviceBlockSchema }) : response
    const answer = refOf(outputs, WHOLE[name] ?? told, id)
    return [name, closed({ request: refOf(inputs, request, `${id}Request`), answer })] as const
  })
  return { tools, requests: schemasOf(inputs, 'input'), answers: schemasOf(outputs, 'output') }
}

type Names = z.core.$ZodRegistry<{ id: string }>
type JsonSchema = z.core.JSONSchema.JSONSchema
type Schemas = Readonly<Record<string, JsonSchema>>

/** A reference to a schema, which has one name however many tools share it. */
function refOf(names: Names, schema: z.ZodType, id: string): JsonSchema {
  if (!names.has(schema)) names.add(schema, { id })
  return { $ref: `#/$defs/${names.get(schema)?.id}` }
}

const closed = (properties: Schemas): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

/** JSON schemas by their names; `tsType` is the name of a word. */
function schemasOf(names: Names, io: 'input' | 'output'): Schemas {
  const made = z.toJSONSchema(names, { io, uri: (id) => `#/$defs/${id}` })
  const named = JSON.stringify(made.schemas, (name, value: JsonSchema) => {
    if (name === '$id') return undefined
    const word = Object.keys(WORDS).find((one) => String(WORDS[one]) === String(value?.enum))
    return word === undefined ? value : { ...value, tsType: word }
  })
  return JSON.parse(named) as Schemas
}

const BANNER = 'Made by `npm run docs` from the schemas that the service checks by.'

/** The types of the TypeScript client. */
export async function typeScriptTypes(): Promise<string> {
  const { tools, requests, answers } = schemas()
  const words = Object.entries(WORDS).map(([id, names]) => [id, { enum: names }])
  const $defs = { ...Object.fromEntries(words), ...requests, ...answers } as Schemas
  const text = await compile({ ...closed(Object.fromEntries(tools)), $defs } as never, 'Tools', {
    additionalProperties: false,
    bannerComment: `/** ${BANNER} */`,
    ignoreMinAndMaxItems: true,
    unreachableDefinitions: true,
    style: { semi: false, singleQuote: true, printWidth: 110, trailingComma: 'all' },
  })
  return text
    .replaceAll(/\/\*\*\n \* This (?:interface|type) was referenced(?:.*\n){2} \*\/\n/g, '')
    .replaceAll(/\/\*\*\n\s*\* (.*)\n\s*\*\//g, '/** $1 */')
}

/** The types of answers for the Python client, which takes its requests as they come. */
export function pythonTypes(): string {
  const words = Object.entries(WORDS).map(
    ([id, names]) => `${id} = Literal[${names.map(quoted).join(', ')}]\n`,
  )
  const classes: string[] = []
  for (const [name, schema] of Object.entries(schemas().answers)) pythonClass(name, schema, classes)
  const text = `${words.join('')}\n\n${classes.join('\n\n')}`
  const used = ['Any', 'Dict', 'List', 'Literal', 'Optional', 'TypedDict', 'Union'].filter((name) =>
    new RegExp(`\\b${name}\\b`).test(text),
  )
  return `"""${BANNER}"""\n\nfrom typing import ${used.join(', ')}\n\n${text}`
}

const quoted = (value: unknown): string => (value === true ? 'True' : JSON.stringify(value))

/** Adds the class of an object behind those of its members. Only text can name `from`, which is a word of the language. */
function pythonClass(
  name: string,
  { properties = {}, required = [] }: JsonSchema,
  classes: string[],
): string {
  const types = Object.entries(properties).map(([field, schema]) => ({
    field,
    type: pythonType(`${name}${pascal(field)}`, schema as JsonSchema, classes),
    isRequired: required.includes(field),
  }))
  const linesOf = (isRequired: boolean, line: (field: string, type: string) => string): string =>
    types
      .flatMap((one) => (one.isRequired === isRequired ? [`    ${line(one.field, one.type)}\n`] : []))
      .join('')
  const optional = linesOf(false, (field, type) => `${field}: ${type}`)
  const base = optional === '' ? name : `_${name}`
  classes.push(
    types.some(({ field }) => field === 'from')
      ? `${base} = TypedDict("${base}", {\n${linesOf(true, (field, type) => `"${field}": ${type},`)}})\n`
      : `class ${base}(TypedDict):\n${linesOf(true, (field, type) => `${field}: ${type}`)}`,
  )
  if (base !== name) classes.push(`class ${name}(${base}, total=False):\n${optional}`)
  return name
}

/** The type of a value; objects in it become classes of their own. */
function pythonType(name: string, schema: JsonSchema & { tsType?: string }, classes: string[]): string {
  if (schema.tsType !== undefined) return schema.tsType
  if (schema.$ref !== undefined) return `"${schema.$ref.slice('#/$defs/'.length)}"`
  const of = Array.isArray(schema.type)
    ? schema.type.map((type): JsonSchema => ({ ...schema, type }))
    : (schema.anyOf as readonly JsonSchema[] | undefined)
  if (of !== undefined) {
    const types = of.filter(({ type }) => type !== 'null').map((one) => pythonType(name, one, classes))
    const one = types.length === 1 ? `${types[0]}` : `Union[${types.join(', ')}]`
    return types.length === of.length ? one : `Optional[${one}]`
  }
  if (schema.const !== undefined) return `Literal[${quoted(schema.const)}]`
  if (schema.enum !== undefined) return `Literal[${schema.enum.map(quoted).join(', ')}]`
  if (schema.type === 'array') return `List[${pythonType(name, schema.items as JsonSchema, classes)}]`
  if (schema.type === 'object' && schema.properties !== undefined) return pythonClass(name, schema, classes)
  if (schema.type === 'object') {
    return `Dict[str, ${pythonType(name, schema.additionalProperties as JsonSchema, classes)}]`
  }
  return { string: 'str', integer: 'int', number: 'float', boolean: 'bool' }[String(schema.type)] ?? 'Any'
}
