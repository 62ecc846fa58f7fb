import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, isServiceError, ServiceError } from '../../../contracts/errors.ts'
import { answerFailure, toServiceError } from '../errors.ts'

/**
 * Answers the failures of search and chat in the codes that they promise: a body that cannot be read as JSON in the
 * code given, and what failed inside as `INTERNAL_ERROR`. No failure may be kept by caches.
 *
 * @param app of these routes alone
 * @param unreadable code for a body that is not JSON
 */
export function useSearchFailures(app: FastifyInstance, unreadable: ErrorCode): void {
  // Text that is not said to be JSON is refused as every other type is.
  app.removeContentTypeParser('text/plain')
  app.setErrorHandler((error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    reply.header('cache-control', 'no-store')
    return answerFailure(inTheirCodes(error, unreadable), request, reply)
  })
}

function inTheirCodes(error: FastifyError, unreadable: ErrorCode): ServiceError {
  const refusal = toServiceError(error)
  if (refusal.code === 'internal_error') return new ServiceError('INTERNAL_ERROR', { cause: error })
  const isFramework = !isServiceError(error)
  return isFramework && refusal.code === 'invalid_request'
    ? new ServiceError(unreadable, { message: 'The body cannot be read as JSON.', cause: error })
    : refusal
}
