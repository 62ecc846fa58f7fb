import { z } from 'zod'
import { ERRORS, type ErrorCode } from '../../../contracts/errors.ts'
import type { Json, JsonObject } from '../../../contracts/json.ts'
import type {
  AnswerDescription,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiResponse,
  Operation,
} from './operation.ts'
import { readableSchema } from './readable-schema.ts'

/** The refusals of every operation. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  'request_timeout',
  'uri_too_long',
  'headers_too_large',
  'rate_limited',
  'internal_error',
  'shutting_down',
]
/** The further refusals of a method that may have a body, whether or not the operation reads it. */
const BODY_ERRORS: readonly ErrorCode[] = ['invalid_request', 'payload_too_large', 'unsupported_media_type']

/** The further refusals of an operation that requires a key. */
const KEY_ERRORS: readonly ErrorCode[] = ['unauthorized', 'key_unknown', 'key_unverifiable']

/** The name of the parameter that routes write as a star: generators of clients need one. */
export const REST_OF_PATH = 'path'

interface RawParameter {
  readonly name: string
  readonly in: string
  readonly description?: string
  readonly schema?: JsonObject
}

/**
 * The operation of a route in the document: its schemas as the framework gives them, with its words.
 *
 * @param isUnlimited whether no rate limit applies to the route.
 */
export function describeOperation(
  isRead: boolean,
  raw: JsonObject,
  described: Operation,
  isUnlimited: boolean,
): OpenApiOperation {
  const takesBody = raw.requestBody !== undefined || described.body !== undefined
  const codes = new Set([
    ...(described.key === 'required' ? KEY_ERRORS : []),
    ...described.errors,
    ...(isRead ? [] : BODY_ERRORS),
    ...COMMON_ERRORS,
  ])
  if (parametersOf(raw, described).length > 0) codes.add('invalid_request')
  // A write whose append was not confirmed in time may have succeeded.
  if (!isRead && codes.has('store_unavailable')) codes.add('outcome_unknown')
  if (isUnlimited) codes.delete('rate_limited')
  return {
    operationId: described.id,
    tags: [described.tag],
    summary: described.summary,
    description: described.description ?? `${described.summary}.`,
    security: securityOf(described),
    parameters: [...parametersOf(raw, described), ...headersOf(described)],
    ...(takesBody && { requestBody: bodyOf(raw, described) }),
    responses: { ...errorAnswers([...codes]), ...answersOf(raw, described) },
  }
}

/** An empty list says that nothing is needed; leaving it out would say nothing. */
function securityOf({ key, isOperators }: Operation): JsonObject[] {
  if (isOperators === true) return [{ operator: [] }]
  if (key === 'none') return []
  return key === 'required' ? [{ key: [] }] : [{}, { key: [] }]
}

const parametersOf = (raw: JsonObject, { parameters }: Operation): OpenApiParameter[] =>
  ((raw.parameters ?? []) as unknown as readonly RawParameter[]).map((parameter) => ({
    ...parameter,
    name: parameter.name === '*' ? REST_OF_PATH : parameter.name,
    schema: readableSchema(parameter.schema ?? {}),
    description: parameters?.[parameter.name] ?? parameter.description ?? parameter.name,
  }))

const headersOf = ({ headers = {} }: Operation): OpenApiParameter[] =>
  Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }))

function bodyOf(raw: JsonObject, { body, bodyExample }: Operation): JsonObject {
  const example = bodyExample === undefined ? {} : { example: bodyExample }
  const given = body === undefined ? schemaOf(raw.requestBody) : z.toJSONSchema(body, { io: 'input' })
  return {
    required: true,
    content: { 'application/json': { schema: readableSchema(given as JsonObject), ...example } },
  }
}

/** The JSON schema in a request body or a response, as routes give it. */
function schemaOf(part: unknown): JsonObject {
  const { content } = (part ?? {}) as { content?: Record<string, { schema?: JsonObject }> }
  return content?.['application/json']?.schema ?? {}
}

/** Headers that every answer carries. */
const ANSWER_HEADERS: JsonObject = {
  'RateLimit-Policy': { $ref: '#/components/headers/RateLimitPolicy' },
  RateLimit: { $ref: '#/components/headers/RateLimit' },
  'X-Request-Id': { $ref: '#/components/headers/RequestId' },
}

function answersOf(
  raw: JsonObject,
  { answers = {}, example, summary }: Operation,
): Record<string, OpenApiResponse> {
  const described = Object.entries(answers).map(([status, answer]): [string, OpenApiResponse] => [
    status,
    { description: answer.description, headers: ANSWER_HEADERS, ...contentOf(answer, example) },
  ])
  const own = Object.entries((raw.responses ?? {}) as Record<string, JsonObject>)
    // Where a route names no answer, the description is the framework's.
    .filter(([status, { content }]) => answers[Number(status)] === undefined && content !== undefined)
    .map(([status, response]): [string, OpenApiResponse] => [
      status,
      {
        description: summary,
        headers: ANSWER_HEADERS,
        content: {
          'application/json': {
            schema: readableSchema(schemaOf(response), 'answer'),
            ...(example !== undefined && status === '200' && { example }),
          },
        },
      },
    ])
  const all = Object.fromEntries([...described, ...own])
  return Object.keys(all).length > 0 ? all : { 200: { description: summary, headers: ANSWER_HEADERS } }
}

const contentOf = ({ content }: AnswerDescription, example: Json | undefined): JsonObject => {
  const entries = Object.entries(content)
  if (entries.length === 0) return {}
  return {
    content: Object.fromEntries(
      entries.map(([type, schema]) => [
        type,
        {
          ...(schema !== undefined && {
            schema: readableSchema(z.toJSONSchema(schema, { io: 'output' }) as JsonObject, 'answer'),
          }),
          ...(example !== undefined && type === 'application/json' && { example }),
        },
      ]),
    ),
  }
}

/** One answer per status, with the codes that can come with it. */
function errorAnswers(codes: readonly ErrorCode[]): Record<string, OpenApiResponse> {
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status)
  return Object.fromEntries(
    [...byStatus]
      .toSorted(([a], [b]) => a - b)
      .map(([status, all]): [string, OpenApiResponse] => [
        String(status),
        {
          description: all.map((code) => `\`${code}\`: ${ERRORS[code].message}`).join(' '),
          headers: {
            ...ANSWER_HEADERS,
            ...(status === 429 && { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }),
          },
          content: {
            'application/json': {
              schema: {
                allOf: [{ $ref: '#/components/schemas/Error' }],
                properties: { code: { enum: all } },
              },
              examples: Object.fromEntries(all.map((code) => [code, { value: errorExample(code) }])),
            },
          },
        },
      ]),
  )
}

/** A body with this code, as the registry words it. */
const errorExample = (code: ErrorCode): JsonObject => ({
  code,
  message: ERRORS[code].message,
  next_step: ERRORS[code].nextStep,
  request_id: '01a1fc5e-badc-7a0b-9593-25b8e98b0c7b',
})
