import { z } from 'zod'
import type { Json, JsonObject } from '../../contracts/json.ts'
import { serviceBlockSchema } from '../../contracts/service-block.ts'
import { TOOLS, type ToolDefinition } from '../../contracts/tools/tool-catalogue.ts'
import type { FreeTool, FreeTools, ToolHints } from './free-tools.ts'

/** A tool as MCP lists it. */
export interface ListedTool extends JsonObject {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonObject & { readonly type: 'object' }
  readonly outputSchema: JsonObject & { readonly type: 'object' }
  readonly annotations: JsonObject & ToolHints
}

/** `structuredContent` of a refused tool call. */
export const refusalSchema = z.object({
  code: z.string().describe('What was refused, one word of the list of errors; only in a refusal'),
  message: z.string().describe('What happened, with the value seen; only in a refusal'),
  next_step: z.string().describe('What to do about it; only in a refusal'),
  details: z
    .looseObject({})
    .optional()
    .describe('What goes with the code, such as the values that exist; only in a refusal'),
})

const ABOUT_MARKETS = { readOnlyHint: true, openWorldHint: true } as const

/**
 * The tools of the service, in their order; what it lists does not depend on who asks.
 *
 * @param free those that are listed after the ones about markets
 */
export const listedTools = (free: FreeTools = new Map()): ListedTool[] => [
  ...Object.entries(TOOLS).map(([name, tool]) =>
    listed(name, { ...tool, hints: ABOUT_MARKETS }, { _service: serviceBlockSchema }),
  ),
  ...Array.from(free, ([name, tool]) => listed(name, tool, {})),
]

/** Tools never change, and writing their schemas takes most of the time in which a server is made. */
const known = new Map<string, ListedTool>()

function listed(
  name: string,
  tool: ToolDefinition & Pick<FreeTool, 'hints'>,
  metadata: Readonly<Record<string, z.ZodType>>,
): ListedTool {
  const made = known.get(name) ?? {
    name,
    title: tool.title,
    description: tool.description,
    inputSchema: objectSchema(z.toJSONSchema(tool.request, { io: 'input' })),
    outputSchema: outputSchema(tool, metadata),
    annotations: { ...tool.hints },
  }
  known.set(name, made)
  return made
}

/**
 * The schema of everything that a tool puts into `structuredContent`. Refusals are part of it, because widely
 * used clients check them against it too, and would show the mismatch in place of the refusal. The properties
 * stay at the root, where forms and generators look for them.
 */
function outputSchema(
  tool: ToolDefinition,
  metadata: Readonly<Record<string, z.ZodType>>,
): ListedTool['outputSchema'] {
  const answer = open(tool.response)
  const refusal = open(refusalSchema)
  return objectSchema({
    type: 'object',
    properties: {
      ...(answer.properties as JsonObject),
      ...Object.fromEntries(Object.entries(metadata).map(([name, schema]) => [name, open(schema)])),
      ...(refusal.properties as JsonObject),
    },
    anyOf: [
      { required: [...(answer.required as string[]), ...Object.keys(metadata)] },
      { required: refusal.required as Json },
    ],
  })
}

/**
 * The schema of a part of an answer. Answers may gain fields, and a client may have kept an older list, so
 * nothing further is forbidden; and what a format or a type says already is not said again at length.
 */
function open(schema: z.ZodType): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: 'output',
    override({ jsonSchema }) {
      delete jsonSchema.additionalProperties
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    },
  })
  return rest as JsonObject
}

const objectSchema = (schema: object): JsonObject & { readonly type: 'object' } => ({
  ...schema,
  type: 'object',
})
