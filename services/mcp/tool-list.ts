import { z } from 'zod'
import type { Json, JsonObject } from '../../contracts/json.ts'
import { HISTORY_TOOLS } from '../../contracts/tools/history-catalogue.ts'
import { KNOWLEDGE_TOOLS } from '../../contracts/tools/knowledge-catalogue.ts'
import { TOOLS, type ToolDefinition } from '../../contracts/tools/tool-catalogue.ts'
import type { FreeTool, FreeTools, ToolHints } from './free-tools.ts'
import { WEBHOOK_TOOLS } from './webhook-tools.ts'

/** Every tool that may be served, by its use: what announces the tools is made from this. */
export const TOOL_GROUPS = [
  { use: 'Markets (each answer costs one call)', tools: TOOLS },
  { use: 'This documentation (free, with a key)', tools: KNOWLEDGE_TOOLS },
  { use: 'The record (free, without a key)', tools: HISTORY_TOOLS },
  { use: 'Webhooks (free, with a key)', tools: WEBHOOK_TOOLS },
] as const

export const ALL_TOOL_NAMES: readonly string[] = TOOL_GROUPS.flatMap(({ tools }) => Object.keys(tools))

/** A tool as MCP lists it. */
export interface ListedTool extends JsonObject {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonObject & { readonly type: 'object' }
  readonly outputSchema: JsonObject & { readonly type: 'object' }
  readonly annotations: JsonObject & ToolHints
}

/** Fields of every refusal; `details` goes with some codes. */
const REFUSAL_FIELDS = ['code', 'message', 'next_step']

const ABOUT_MARKETS = { readOnlyHint: true, openWorldHint: true } as const

/**
 * The tools of the service, in their order; what it lists does not depend on who asks. Models read the list whole
 * before they ask anything, so it is short: a field of answers is explained where it first occurs.
 *
 * @param free those that are listed after the ones about markets
 */
export function listedTools(free: FreeTools = new Map()): ListedTool[] {
  const said = new Set<string>()
  const markets = Object.entries(TOOLS).map(([name, tool]) =>
    listed(name, { ...tool, hints: ABOUT_MARKETS }, ['_service'], said),
  )
  return [...markets, ...Array.from(free, ([name, tool]) => listed(name, tool, [], said))]
}

interface Schemas {
  readonly input: JsonObject & { readonly properties?: JsonObject }
  readonly output: {
    readonly properties: Readonly<Record<string, JsonObject>>
    readonly required: readonly string[]
  }
}

/** Tools never change, and writing their schemas takes most of the time in which a server is made. */
const known = new Map<string, Schemas>()

/**
 * A tool with the schema of everything that it puts into `structuredContent`: the fields it has, and what those mean. Their
 * types stand in the answer, and in `/openapi.json`. Refusals are part of it, because widely used clients check them
 * against it too, and would show the mismatch in place of the refusal.
 */
function listed(
  name: string,
  tool: ToolDefinition & Pick<FreeTool, 'hints'>,
  metadata: readonly string[],
  said: Set<string>,
): ListedTool {
  const { input, output } = known.get(name) ?? {
    input: shortened(z.toJSONSchema(tool.request, { io: 'input' }) as Json) as Schemas['input'],
    output: z.toJSONSchema(tool.response) as Schemas['output'],
  }
  known.set(name, { input, output })
  const properties: Record<string, JsonObject> = {}
  for (const [field, { description }] of Object.entries(output.properties)) {
    const words = JSON.stringify([field, description])
    // A field of the request is explained there.
    if (description === undefined || said.has(words) || Object.hasOwn(input.properties ?? {}, field)) continue
    said.add(words)
    properties[field] = { description }
  }
  const { title, description, hints } = tool
  const anyOf = [{ required: [...output.required, ...metadata] }, { required: REFUSAL_FIELDS }]
  return {
    name,
    title,
    description,
    inputSchema: { ...input, type: 'object' },
    outputSchema: { type: 'object', properties, anyOf },
    annotations: { ...hints },
  }
}

/** Keywords of limits that a refusal tells, and models need not know before. */
const UNSAID: ReadonlySet<string> = new Set([
  '$schema',
  'pattern',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
])

/** A schema of arguments as short as a model can do with: what may be null may as well be left out. */
function shortened(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(shortened)
  if (typeof schema !== 'object' || schema === null) return schema
  const { anyOf, ...rest } = schema as JsonObject
  const [only, none] = Array.isArray(anyOf) && anyOf.length === 2 ? (anyOf as JsonObject[]) : []
  const plain = none?.type === 'null' ? { ...only, ...rest } : schema
  return Object.fromEntries(
    Object.entries(plain).flatMap(([keyword, value]) =>
      (UNSAID.has(keyword) && typeof value !== 'object') ||
      Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER
        ? []
        : [[keyword, shortened(value)]],
    ),
  )
}
