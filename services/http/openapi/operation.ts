import { z } from 'zod'
import type { ErrorCode } from '../../../contracts/errors.ts'
import type { Json, JsonObject } from '../../../contracts/json.ts'

declare module 'fastify' {
  interface FastifySchema {
    /** The words of the description of the service for this route; a route without them is not described. */
    readonly operation?: Operation
  }
}

/** The groups of operations, in the order of the description. */
export const TAGS = {
  tools: 'Verdicts, regimes and scans, through the Model Context Protocol',
  verdicts: 'What was recorded, what became of it, and proof of both',
  proof: 'The transparency log: signed checkpoints, tiles, and proof files',
  markets: 'What can be asked for',
  account: 'Sign-in, keys and usage',
  webhooks: 'Signals pushed to an address of yours, and what was sent to it',
  knowledge: 'The documentation: pages, search, and answers to questions',
  payments: 'Answers and plans that are paid for by themselves, with x402',
  service: 'The state and the description of the service',
} as const

/** One kind of answer of an operation, where its route does not say so itself. */
export interface AnswerDescription {
  readonly description: string
  /** By media type: the schema of a whole body, or of one row where the body is a stream of them. */
  readonly content: Readonly<Record<string, z.ZodType | undefined>>
}

/** The part of a route's description that its schemas do not give. */
export interface Operation {
  /** A name for generated clients. */
  readonly id: string
  readonly tag: keyof typeof TAGS
  /** One line without a full stop. */
  readonly summary: string
  /** Plain sentences. */
  readonly description?: string
  /** Whether an API key is taken: never, where one is sent, or always. */
  readonly key: 'none' | 'optional' | 'required'
  /** Whether it takes the token of the operator, and nothing else. */
  readonly isOperators?: boolean
  /** The codes of its refusals, without those that follow from the method, the parameters and `key`. */
  readonly errors: readonly ErrorCode[]
  /** Parameters whose schema has no words of its own, by name. */
  readonly parameters?: Readonly<Record<string, string>>
  /** Request headers that mean something here, by name. */
  readonly headers?: Readonly<Record<string, string>>
  /** The body, where the route reads it itself. */
  readonly body?: z.ZodType
  readonly bodyExample?: Json
  /** Answers by status. */
  readonly answers?: Readonly<Record<number, AnswerDescription>>
  /** A body of the answer with status 200. */
  readonly example?: Json
}

type SharedFields = Pick<Operation, 'tag'> & Partial<Pick<Operation, 'key' | 'errors' | 'parameters'>>

/**
 * A function that describes the routes of a group: with the fields that they share, and errors and parameters of
 * their own.
 */
export const operationsOf =
  (shared: SharedFields) =>
  (id: string, summary: string, own: Partial<Omit<Operation, 'id' | 'summary'>> = {}): Operation => ({
    key: 'none',
    ...shared,
    ...own,
    id,
    summary,
    errors: [...(shared.errors ?? []), ...(own.errors ?? [])],
    parameters: { ...shared.parameters, ...own.parameters },
  })

type Answers = NonNullable<Operation['answers']>

/** A successful answer with a body of one of these media types, whose content has no schema. */
export const bodyOfType = (description: string, ...mediaTypes: readonly string[]): Answers => ({
  200: { description, content: Object.fromEntries(mediaTypes.map((type) => [type, undefined])) },
})

/** A successful answer without a body. */
export const noBody = (description: string): Answers => ({ 204: { description, content: {} } })

/** Any JSON object. */
export const anyObject = z.record(z.string(), z.json())

/** The fields of a route whose answer a client may keep and ask for again by its `ETag`. */
export const revalidated = (
  description: string,
  mediaType: string,
  schema?: z.ZodType,
): Required<Pick<Operation, 'headers' | 'answers'>> => ({
  headers: { 'If-None-Match': 'The `ETag` of an earlier answer' },
  answers: {
    200: { description, content: { [mediaType]: schema } },
    304: { description: 'It is still as `If-None-Match` says', content: {} },
  },
})

/** A parameter of an operation in an OpenAPI document. */
export interface OpenApiParameter extends JsonObject {
  readonly name: string
  readonly in: string
  readonly description: string
  readonly schema: JsonObject
}

/** An answer in an OpenAPI document. */
export interface OpenApiResponse extends JsonObject {
  readonly description: string
}

/** An operation in an OpenAPI document. */
export interface OpenApiOperation extends JsonObject {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly security: readonly JsonObject[]
  readonly parameters: readonly OpenApiParameter[]
  readonly responses: Readonly<Record<string, OpenApiResponse>>
}
