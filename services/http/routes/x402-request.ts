import type { FastifyReply, FastifyRequest } from 'fastify'
import { ServiceError } from '../../../contracts/errors.ts'
import { parseJson as readJson } from '../../../contracts/json.ts'
import type { ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import { sentCredential } from '../../accounts/index.ts'
import { isTraceparent } from '../../runtime/tracing/trace-context.ts'
import type { PaidCall, PaidRequest, SentBody } from '../../tool-calls/index.ts'
import { requireJsonType } from '../bodies.ts'

/** Context of a request to a paid route that the request does not hold. */
export interface PaidEdge {
  /** Network address of the caller, as trusted proxies tell it. */
  readonly addressOf: (request: FastifyRequest) => string
  /** Aborted when nobody waits for the answer any more. */
  readonly untilGone: (reply: FastifyReply) => AbortSignal
}

/**
 * A request to a paid route, read so far as it is asked for: most callers have an offer, which needs little of it.
 *
 * A class, because of the getters. In an object literal each would be a new function, for which V8 makes the object a
 * shape of its own that keeps the whole request until the old generation is collected.
 */
export class SentRequest implements PaidRequest {
  readonly body: SentBody
  readonly rawHeaders: readonly string[]
  readonly authorization: string | undefined
  readonly requestId: string
  readonly #edge: PaidEdge
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply

  constructor(edge: PaidEdge, request: FastifyRequest, reply: FastifyReply) {
    const { headers, raw, body, id } = request
    this.#edge = edge
    this.#request = request
    this.#reply = reply
    this.rawHeaders = raw.rawHeaders
    this.body = readPaidBody(raw.rawHeaders, body)
    this.authorization = sentCredential(headers)
    this.requestId = id
  }

  get address(): string {
    return this.#edge.addressOf(this.#request)
  }

  get traceparent(): string | undefined {
    const { traceparent } = this.#request.headers
    return isTraceparent(traceparent) ? traceparent : undefined
  }

  readonly signal = (): AbortSignal => this.#edge.untilGone(this.#reply)
}

/** The same for a tool. */
export class SentCall extends SentRequest implements PaidCall {
  readonly tool: ToolName
  readonly idempotencyKey: string | undefined

  constructor(tool: ToolName, edge: PaidEdge, request: FastifyRequest, reply: FastifyReply) {
    super(edge, request, reply)
    this.tool = tool
    this.idempotencyKey = request.headers['idempotency-key'] as string | undefined
  }
}

/**
 * The body of a request to a paid route. It is read as JSON for the price, no matter its headers; whether they say
 * what they must is checked once it is paid for.
 *
 * @param rawHeaders as Node has them: of two lines of one name it otherwise keeps the first and says nothing
 */
export function readPaidBody(rawHeaders: readonly string[], body: unknown): SentBody {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
  const read = parseJson(bytes)
  return {
    isEmpty: bytes.length === 0,
    lenient: read.value,
    require() {
      requireJsonType(rawHeaders)
      if (read.fault === undefined) return read.value
      throw new ServiceError('invalid_request', { message: `The body is not JSON: ${read.fault}` })
    },
  }
}

function parseJson(bytes: Buffer): { readonly value?: unknown; readonly fault?: string } {
  if (bytes.length === 0) return { fault: 'it is empty' }
  try {
    return { value: readJson(bytes.toString()) }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  }
}
