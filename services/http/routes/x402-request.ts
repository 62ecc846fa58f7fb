import type { FastifyRequest } from 'fastify'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { parseJson } from '../../../contracts/infra/json.ts'
import type { ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import { sentCredential } from '../../accounts/index.ts'
import { isTraceparent } from '../../runtime/tracing/trace-context.ts'
import type { PaidCall, PaidRequest, SentBody } from '../../tool-calls/index.ts'
import { requireJsonType } from '../bodies.ts'
import { addressOf } from '../client-address.ts'

/** A request to a paid route. @param signal aborted when nobody waits for the answer any more */
export function paidRequest(request: FastifyRequest, signal: () => AbortSignal): PaidRequest {
  const { headers, raw, body, id } = request
  const { traceparent } = headers
  return {
    rawHeaders: raw.rawHeaders,
    body: readPaidBody(raw.rawHeaders, body),
    authorization: sentCredential(headers),
    requestId: id,
    address: addressOf(request),
    traceparent: isTraceparent(traceparent) ? traceparent : undefined,
    signal,
  }
}

/** The same for a tool. */
export const paidCall = (tool: ToolName, request: FastifyRequest, signal: () => AbortSignal): PaidCall => ({
  ...paidRequest(request, signal),
  tool,
  idempotencyKey: request.headers['idempotency-key'] as string | undefined,
})

/**
 * The body of a request to a paid route. It is read as JSON for the price, no matter its headers; whether they say
 * what they must is checked once it is paid for.
 *
 * @param rawHeaders as Node has them: of two lines of one name it otherwise keeps the first and says nothing
 */
export function readPaidBody(rawHeaders: readonly string[], body: unknown): SentBody {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
  const { value, fault } = tryParse(bytes)
  return {
    isEmpty: bytes.length === 0,
    lenient: value,
    require() {
      requireJsonType(rawHeaders)
      if (fault === undefined) return value
      throw new ServiceError('invalid_request', { message: `The body is not JSON: ${fault}` })
    },
  }
}

function tryParse(bytes: Buffer): { readonly value?: unknown; readonly fault?: string } {
  if (bytes.length === 0) return { fault: 'it is empty' }
  try {
    return { value: parseJson(bytes.toString()) }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  }
}
