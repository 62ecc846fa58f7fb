import { hash } from 'node:crypto'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { canonicalJson, type Json, jsonFault } from '../../contracts/infra/json.ts'
import { LIMITS } from '../../contracts/limits.ts'

const VISIBLE_ASCII = new RegExp(`^[!-~]{1,${LIMITS.idempotencyKeyCharacters}}$`)

/**
 * The stored form of an `Idempotency-Key`: a hash of it with its payer, so that equal keys of two payers have nothing in
 * common and the key itself is not in the log.
 *
 * @returns SHA-256, hex
 * @throws ServiceError `invalid_request` for a key that is not 1 to 255 visible ASCII characters
 */
export function idempotencyHash(payerId: string, key: string): string {
  if (!VISIBLE_ASCII.test(key)) {
    throw new ServiceError('invalid_request', {
      message: `Idempotency-Key: must be 1 to ${LIMITS.idempotencyKeyCharacters} visible ASCII characters, given once; it has ${key.length}`,
    })
  }
  return hash('sha256', `${payerId}\n${key}`)
}

/**
 * Tells whether two calls ask the same: the tool, and the request in canonical form, so that the order of its
 * fields does not matter. A default that is left out is not the same as one that is given.
 *
 * @returns SHA-256, hex
 * @throws ServiceError `invalid_request` for what is not JSON, or nested too deeply
 */
export function requestHash(tool: string, request: unknown): string {
  const fault = jsonFault(request, LIMITS.jsonDepth)
  if (fault !== undefined) throw new ServiceError('invalid_request', { message: `The request at ${fault}` })
  return hash('sha256', `${tool}\n${canonicalJson(request as Json)}`)
}
