import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ERRORS } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { toServiceError } from '../errors.ts'
import { JSON_RPC_CODES, rpcErrorText } from './json-rpc.ts'

/** Answers what HTTP or a guard before this edge refuses, as JSON-RPC, so that clients of MCP can read it. */
export function answerTransportFailure(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const refusal = toServiceError(error)
  const { status } = ERRORS[refusal.code]
  if (status >= 500 && refusal.code !== 'shutting_down') {
    request.log.error({ err: error, request_id: request.id }, 'request failed')
  }
  const data: JsonObject = {
    code: refusal.code,
    next_step: refusal.nextStep,
    request_id: request.id,
    ...(refusal.details === undefined ? {} : { details: refusal.details }),
  }
  // Whoever knows better has said so already.
  if (refusal.code === 'rate_limited' && !reply.hasHeader('retry-after')) reply.header('retry-after', '1')
  const code = refusal.code === 'internal_error' ? JSON_RPC_CODES.internalError : JSON_RPC_CODES.transport
  return reply
    .code(status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(rpcErrorText(null, { code, message: refusal.message, data }))
}
