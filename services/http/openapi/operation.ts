import type { z } from 'zod'
import type { ErrorCode } from '../../../contracts/errors.ts'
import type { Json, JsonObject } from '../../../contracts/json.ts'

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

/** What the description of the service adds to what a route's schemas say. */
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
  /** The codes that can come, beside those of every operation. */
  readonly errors: readonly ErrorCode[]
  /** Whether it is answered however often it is asked. */
  readonly isUnlimited?: boolean
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
  /** Path and query of a request that can be tried. */
  readonly tryPath?: string
}

/** Operations by method and path, as in `GET /verify/:verdict_id`. */
export type Operations = Readonly<Record<string, Operation>>

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
