import { isServiceError, ServiceError } from '../../contracts/errors.ts'
import type { Origin } from '../../contracts/event.ts'
import type { Identity } from '../accounts/index.ts'

/** A caller whose key applies, or who sent none. */
export type VerifiedIdentity = Extract<Identity, { outcome: 'OK' | 'ABSENT' | 'MALFORMED' }>

/**
 * A key that does not exist, or cannot be checked, is never served as if there were none.
 *
 * @throws ServiceError `key_unknown`, `key_unverifiable`, `store_full`
 */
export function requireVerified(identity: Identity): VerifiedIdentity {
  switch (identity.outcome) {
    case 'UNKNOWN':
      throw new ServiceError('key_unknown')
    case 'INDETERMINATE':
      // Nothing could be recorded for any caller.
      if (isServiceError(identity.cause, 'store_full')) throw identity.cause
      throw new ServiceError('key_unverifiable', {
        message: `The API key could not be checked: ${identity.reason}`,
        cause: identity.cause,
      })
    default:
      return identity
  }
}

/** @throws ServiceError `unauthorized` without a key that applies, `key_unknown`, `key_unverifiable` */
export function requireKey(identity: Identity): Extract<Identity, { outcome: 'OK' }> {
  const verified = requireVerified(identity)
  if (verified.outcome === 'OK') return verified
  throw new ServiceError('unauthorized', {
    message:
      verified.outcome === 'ABSENT'
        ? 'This needs an API key: send `Authorization: Bearer <key>`.'
        : 'What was sent as `Authorization` is not an API key.',
  })
}

/**
 * The account of a caller, and the origin of the caller's events.
 *
 * @throws ServiceError those of {@link requireKey}
 */
export function callerAs(
  identity: Identity,
  correlationId: string,
): { readonly accountId: string; readonly keyId: string; readonly origin: Origin } {
  const { accountId, keyId, sessionSeenAt } = requireKey(identity)
  const actor = sessionSeenAt === undefined ? `key ${keyId}` : `session ${keyId}`
  return { accountId, keyId, origin: { correlationId, actor } }
}
