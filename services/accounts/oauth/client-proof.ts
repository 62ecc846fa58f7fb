import type { JSONWebKeySet } from 'jose'
import { LIMITS } from '../../../contracts/limits.ts'
import { OAuthError } from '../../../contracts/oauth.ts'
import { type ClientKeys, readClientKeys } from './client-keys.ts'

/** RFC 7523 §2.2. */
export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** Signatures by keys of which half is public; none by a shared secret, and not `none`. */
const ALGORITHMS = ['ES256', 'ES384', 'PS256', 'RS256', 'EdDSA', 'Ed25519']

/** Longest proof that is read. */
const PROOF_CHARACTERS = 4_096

/**
 * Checks what a client signed to prove who it is (RFC 7523 §3).
 *
 * @param expected.audiences addresses that it may be for; it is good for one service and no other
 * @param expected.now Unix milliseconds
 * @returns its id, which is good once, and until when it would be good, Unix milliseconds
 * @throws OAuthError `invalid_client`
 */
export async function checkClientProof(
  assertion: string,
  jwks: ClientKeys,
  expected: { readonly clientId: string; readonly audiences: readonly string[]; readonly now: number },
): Promise<{ readonly proofId: string; readonly expiresAt: number }> {
  const { clientId, audiences, now } = expected
  if (assertion.length > PROOF_CHARACTERS) throw refused('it is too long')
  // Machines may have keys from before keys had a bound.
  const keys = readClientKeys(jwks)
  if (typeof keys === 'string') throw refused(`jwks ${keys}`)
  const { createLocalJWKSet, errors, jwtVerify } = await import('jose')
  try {
    const { payload } = await jwtVerify(assertion, createLocalJWKSet(keys as unknown as JSONWebKeySet), {
      algorithms: ALGORITHMS,
      issuer: clientId,
      subject: clientId,
      audience: [...audiences],
      requiredClaims: ['exp', 'jti'],
      clockTolerance: LIMITS.clientClockMs / 1_000,
      currentDate: new Date(now),
    })
    const { jti, exp = 0 } = payload
    if (typeof jti !== 'string' || jti === '' || jti.length > 256) throw refused('its jti is no text')
    const expiresAt = exp * 1_000
    if (expiresAt > now + LIMITS.clientProofMs + LIMITS.clientClockMs) {
      throw refused(`it is good for more than ${LIMITS.clientProofMs / 60_000} minutes`)
    }
    return { proofId: jti, expiresAt: expiresAt + LIMITS.clientClockMs }
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) throw refused(error.message, error)
    throw error
  }
}

const refused = (reason: string, cause?: unknown): OAuthError =>
  new OAuthError('invalid_client', `client_assertion does not hold: ${reason}`, { cause })
