import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifySchema, FastifySchemaCompiler } from 'fastify'
import { createJsonSchemaTransform } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ERRORS } from '../../contracts/errors/errors.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { sendPublic } from './send-public.ts'

/** The groups of operations. */
const TAGS = {
  tools: 'Verdicts, regimes and scans, through the Model Context Protocol',
  verdicts: 'Recorded verdicts, their outcomes, and proof of both',
  proof: 'The transparency log: signed checkpoints, tiles, and proof files',
  markets: 'Exchanges, coins, timeframes and bars',
  account: 'Sign-in, keys and usage',
  webhooks: 'Signals pushed to your endpoint, and their deliveries',
  knowledge: 'The documentation: pages, search, and answers to questions',
  payments: 'Single answers and plans, paid with x402',
  service: 'The state and the description of the service',
} as const

/** The security of a route that requires an API key, and of one that also answers without. */
export const [KEY, KEY_IF_ANY] = [[{ key: [] }], [{}, { key: [] }]]

export type OperationWords = Pick<
  FastifySchema,
  'tags' | 'operationId' | 'summary' | 'description' | 'security'
>

/** The words of a route in the document; a route without them is not described. */
export const operation = (tag: keyof typeof TAGS, operationId: string, summary: string): OperationWords => ({
  tags: [tag],
  operationId,
  summary,
  security: [],
})

/** An answer of one of these media types, with the schema of its body, or of a row where the body is a stream. */
export const bodyOf = (content: Readonly<Record<string, z.ZodType>>, description = 'The document') => ({
  200: {
    description,
    content: Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema }])),
  },
})

const KEY_HINT =
  'Up to 255 visible ASCII characters, new for every new request: the same request with the same key gets the stored answer and is not charged again'
/** Headers of a request whose answer is kept for a key of its sender. */
export const KEYED_HEADERS = z.object({ 'Idempotency-Key': z.string().optional().describe(KEY_HINT) })

export const anyObject = z.record(z.string(), z.json())
export const NO_BODY = { 204: z.undefined().describe('Done; there is no body') }

/** For a route whose schema only describes the body, because its handler reads it. */
export const unchecked: FastifySchemaCompiler<unknown> = () => (value) => ({ value })

/** Adds a route to a document that is the same for all: JSON, or text by its name. */
export function serveDocument(
  app: FastifyInstance,
  path: string,
  words: OperationWords,
  make: () => string | Promise<string>,
): void {
  const isText = path.endsWith('.txt')
  const type = isText ? 'text/plain' : 'application/json'
  const schema = { ...words, response: bodyOf({ [type]: isText ? z.string() : anyObject }) }
  app.get(path, { schema }, async (request, reply) =>
    sendPublic(request, reply, `${type}; charset=utf-8`, await make()),
  )
}

/** An operation in the document. */
export interface OpenApiOperation extends JsonObject {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly security: readonly JsonObject[]
  readonly parameters?: readonly (JsonObject & { readonly name: string; readonly in: string })[]
  readonly responses: Readonly<Record<string, JsonObject>>
}

/** OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.0), as far as it is read here. */
export interface OpenApiDocument extends JsonObject {
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components: JsonObject
}

const ERROR: JsonObject = {
  type: 'object',
  description: 'The body of every refusal',
  properties: {
    code: { type: 'string', enum: Object.keys(ERRORS), description: 'What happened, for programs' },
    message: { type: 'string', description: 'What happened, for people' },
    next_step: { type: 'string', description: 'What to do about it' },
    details: { type: 'object', description: 'Further fields, which depend on the code' },
    request_id: { type: 'string', description: 'The id of this request in the log' },
  },
  required: ['code', 'message'],
}
const REFUSAL: JsonObject = {
  description: 'A refusal',
  headers: {
    'Retry-After': { description: 'Seconds to wait, with 429 and 503', schema: { type: 'string' } },
  },
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}
const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', description }) as const

const transform = createJsonSchemaTransform({
  zodToJsonConfig: {
    override({ zodSchema, jsonSchema: schema }) {
      const { def } = zodSchema._zod // oxlint-disable-line no-underscore-dangle -- the name that zod gives it
      // Of type null is what has no body.
      if (def.type === 'undefined') schema.type = 'null'
      // Answers may get new fields within a version; only a strict schema refuses them.
      if (def.type === 'object' && def.catchall === undefined) delete schema.additionalProperties
      // A format says more than its pattern, and few generators read properties of characters.
      if (schema.format !== undefined || schema.pattern?.includes('\\p{')) delete schema.pattern
      if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
      if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
    },
  },
})

/**
 * `GET /openapi.json`: the routes as OpenAPI 3.1, made from their schemas. To be used before the routes.
 * @returns the document; it is complete once the app is ready.
 */
export async function useOpenApi(
  app: FastifyInstance,
  { version, publicUrl }: { readonly version: string; readonly publicUrl: () => string },
): Promise<() => OpenApiDocument> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Signal service',
        license: { name: 'All rights reserved', identifier: 'LicenseRef-All-rights-reserved' } as never,
        version,
        description:
          'Calibrated trade calls, market regimes and scans, each recorded before it is answered and verifiable afterwards. Information, not advice.',
      },
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      components: {
        securitySchemes: {
          key: bearer('An API key: `Authorization: Bearer sk_live_…`'),
          operator: bearer('The token of the operator, as OPERATOR_TOKEN has it'),
        },
        schemas: { Error: ERROR as never },
      },
    },
    exposeHeadRoutes: false,
    hideUntagged: true,
    transform,
  })
  let text: string | undefined
  // Once: the address is known when the server listens, and does not change after that.
  const documentText = () => {
    text ??= documentOf(app.swagger() as unknown as OpenApiDocument, publicUrl())
    return text
  }
  const words = operation('service', 'openApi', 'This description, as OpenAPI 3.1')
  serveDocument(app, '/openapi.json', words, documentText)
  return () => JSON.parse(documentText()) as OpenApiDocument
}

/** The document with its address, the refusals of every route, and a name for the rest of a path. */
function documentOf(raw: OpenApiDocument, publicUrl: string): string {
  const described = ({ responses, ...one }: OpenApiOperation) => ({
    ...one,
    responses: {
      default: REFUSAL,
      ...mapValues(responses, (answer) =>
        answer.description === 'Default Response' ? { ...answer, description: one.summary } : answer,
      ),
    },
  })
  const paths = mapValues(raw.paths, (methods) => mapValues(methods, described))
  return (
    JSON.stringify({ ...raw, servers: [{ url: publicUrl === '' ? '/' : publicUrl }], paths })
      .replaceAll('{*}', '{path}')
      .replaceAll('"name":"*"', '"name":"path"')
      // The generator refers to any JSON by a name that it does not define.
      .replaceAll(/\{"\$ref":"#\/components\/schemas\/schema\d+"\}/g, '{}')
  )
}

/** Every operation in a line: its method and path, what it does, and the parameters it takes. */
export const endpointsOf = ({ paths }: OpenApiDocument): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { summary, parameters = [] }]) => {
        const names = parameters.filter(({ in: part }) => part === 'query').map(({ name }) => name)
        const takes = names.length === 0 ? '' : `: ${names.join(', ')}`
        return [`${method.toUpperCase()} ${path}`, `${summary}${takes}`]
      }),
    ),
  )

const mapValues = <From, To>(values: Readonly<Record<string, From>>, change: (value: From) => To) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]))
