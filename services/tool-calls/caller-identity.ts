import type { ServiceBlock } from '../../contracts/answers/service-block.ts'
import type { Tier } from '../../contracts/domain/plans.ts'
import { isServiceError, ServiceError } from '../../contracts/errors/errors.ts'
import type { Origin } from '../../contracts/infra/event.ts'
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
    message: verified.outcome === 'ABSENT' ? 'This needs an API key, and none came.' : NO_KEY,
    nextStep:
      'Send `Authorization: Bearer <key>`. To get a key, send `{"email": …}` to `POST /api/sign-in` and the code of the mail to `POST /api/sign-in/confirm`; on a service of your own run `signal keys create`.',
  })
}

/** The notice about a credential that is none. */
const NO_KEY =
  'What came as a credential is no API key: one begins with `sk_live_`, and comes in the header `Authorization` after the word `Bearer`.'

/**
 * A refusal for want of calls, or of a payment, with the notice why the credential that came did not count.
 *
 * @param error what was thrown; any other is given back as it is
 */
export function withKeyNotice({ outcome }: VerifiedIdentity, error: unknown): unknown {
  const isForWant = isServiceError(error, 'quota_exhausted') || isServiceError(error, 'payment_required')
  if (outcome !== 'MALFORMED' || !isForWant) return error
  const { code, message, nextStep, details } = error
  return new ServiceError(code, {
    message: `${message.replace(/[^.]$/, '$&.')} ${NO_KEY}`,
    nextStep,
    ...(details && { details }),
    cause: error,
  })
}

/** `_service.auth`: whether the caller's key applied, and how to send it where what came is none. */
export const authBlock = (outcome: VerifiedIdentity['outcome'], tier: Tier): ServiceBlock['auth'] => ({
  outcome,
  tier,
  ...(outcome === 'MALFORMED' && { note: `${NO_KEY} The call was served without one.` }),
})

/**
 * The account of a caller, and the origin of the caller's events.
 *
 * @throws ServiceError those of {@link requireKey}
 */
export function callerAs(
  identity: Identity,
  correlationId: string,
): { readonly accountId: string; readonly keyId: string; readonly origin: Origin } {
  const { accountId, keyId, isSession } = requireKey(identity)
  const actor = `${isSession === true ? 'session' : 'key'} ${keyId}`
  return { accountId, keyId, origin: { correlationId, actor } }
}
