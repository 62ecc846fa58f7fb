import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { ServiceError } from '../../contracts/errors.ts'

/**
 * Whether a request comes from the operator.
 *
 * @throws ServiceError `unauthorized` for a credential that is given but is not the operator's.
 */
export function isOperator(request: FastifyRequest, operatorToken: string | undefined): boolean {
  const { authorization } = request.headers
  if (authorization === undefined) return false
  const [, token] = /^Bearer ([!-~]{1,512})$/i.exec(authorization) ?? []
  if (token === undefined || operatorToken === undefined || !isSameText(token, operatorToken)) {
    throw new ServiceError('unauthorized')
  }
  return true
}

/** Compares in a time that does not depend on where two texts differ. */
const isSameText = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
