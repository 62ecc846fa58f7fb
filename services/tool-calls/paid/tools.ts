import type { ServiceBlock } from '../../../contracts/answers/service-block.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import { priceOf } from '../../../contracts/tools/prices.ts'
import { toolNamed } from '../../../contracts/tools/tool-catalogue.ts'
import { authBlock, requireVerified, type VerifiedIdentity, withKeyNotice } from '../caller-identity.ts'
import { requestHash } from '../idempotency-key.ts'
import { withService } from '../tool-call.ts'
import { createPaidHandshake, type Paid } from './handshake.ts'
import { createPaidOffers, paidServiceBlock } from './offers.ts'
import { paidOrOffered, REQUIRED } from './paid-or-offered.ts'
import { createPaidPlanPath } from './plans.ts'
import {
  callerOf,
  type PaidAnswer,
  type PaidCall,
  type PaidCallsOptions,
  type PaidOutcome,
  type PaidPathOptions,
  type PaidPlanPath,
} from './types.ts'

/** The path of a tool call that is paid for by itself, or by a key where one with calls left comes with it. */
export interface PaidCallPath {
  /**
   * Answers, or offers. What is answered is durable, and its payment claimed or its call counted.
   *
   * @throws ServiceError `unknown_tool`, `invalid_content_type`, `invalid_request`, `key_unknown`,
   *   `key_unverifiable`, `payment_malformed`, `payment_mismatch`, `payment_unproven`, `payment_pending`, `payments_unavailable`, what
   *   the tool refuses with, and those of the store. Nothing was charged then, but with `payment_pending`
   */
  call(call: PaidCall): Promise<PaidOutcome>
  /** The offer of a tool to who has not said what to ask it: for indexers. @throws ServiceError `unknown_tool` */
  offer(tool: string): PaidOutcome
}

const PAID_NOTICE =
  'Information, not advice. This answer was paid for by itself; no calls of a key were used.'

/**
 * The path of a paid tool call: a key with calls left pays; otherwise who brings no payment has an offer for just
 * this request, and who brings one has the answer. A key that does not exist is refused, never taken for none.
 */
export function createPaidCallPath(options: PaidPathOptions): PaidCallPath {
  const { handshake, offers, identify } = options

  /** Calls with a key. Returns its answer, or the error that it has no calls left. */
  async function callByKey(call: PaidCall): Promise<PaidAnswer | ServiceError> {
    const { body, channel = 'http' } = call
    const request = body.require()
    try {
      const answer = await options.calls.call({ ...call, ...callerOf(call), request, channel })
      return { kind: 'answer', ...answer, receipt: undefined }
    } catch (error) {
      // Where nothing can be paid for, the refusal of the key is all there is to say.
      if (isServiceError(error, 'quota_exhausted') && options.payments.isOffering) return usedUpError(error)
      throw error
    }
  }

  return {
    async call(call) {
      const tool = toolNamed(call.tool)
      const price = priceOf(tool, call.body.lenient)
      const { authorization, body } = call
      // Most callers here have no key, and need not wait for the question whose it is.
      const identity = authorization === undefined ? ABSENT : requireVerified(await identify(authorization))
      const byKey = identity.outcome === 'OK' ? await callByKey(call) : REQUIRED
      if (!(byKey instanceof ServiceError)) return byKey
      const why = identity.outcome === 'OK' ? 'quota_exhausted' : REQUIRED.code
      return paidOrOffered(call, {
        payments: options.payments,
        offer: (error) => offers(tool, price, error),
        unpaid: { refusal: identity.outcome === 'MALFORMED' ? NOT_BY_KEY : byKey, error: why },
        async pay(presented) {
          const paid = await handshake.pay(presented, {
            ...callerOf(call),
            product: tool,
            price,
            requestHash: () => requestHash(tool, body.require()),
            compute: () => options.answer(tool, body.require(), presented.payer),
            accountId: null,
            mustSettleFirst: false,
          })
          const service = serviceBlock(call, identity, paid)
          const { isReplay, receipt } = paid
          return { kind: 'answer', ...withService(paid.answer, paid.text, service), isReplay, receipt }
        },
      })
    },

    offer(name) {
      const tool = toolNamed(name)
      const offer = offers(tool, priceOf(tool, undefined), REQUIRED.code)
      return { kind: 'offer', offer, refusal: REQUIRED }
    },
  }

  function serviceBlock({ tool, requestId }: PaidCall, identity: VerifiedIdentity, paid: Paid): ServiceBlock {
    // A key that was used up did not apply: this is what anybody has who pays.
    const auth = authBlock(identity.outcome === 'MALFORMED' ? 'MALFORMED' : 'ABSENT', 'free')
    return paidServiceBlock(options, { tool, requestId, auth, notice: PAID_NOTICE }, paid)
  }
}

const ABSENT = { outcome: 'ABSENT' } as const

/** The refusal of who sent something else as a key. */
const NOT_BY_KEY = withKeyNotice({ outcome: 'MALFORMED' }, REQUIRED) as ServiceError

/** Instead of the refusal of a key: there is another way to pay. */
const usedUpError = (cause: ServiceError): ServiceError =>
  new ServiceError('payment_required', {
    message: `${cause.message} This call can be paid for by itself.`,
    ...(cause.details && { details: cause.details }),
    cause,
  })

/** Everything that is paid for request by request. */
export interface PaidCalls {
  readonly tools: PaidCallPath
  readonly plans: PaidPlanPath
}

/**
 * The paths of paid tool calls and plans. They share their offers, and the bound on payments that are under way.
 */
export function createPaidCalls(options: PaidCallsOptions): PaidCalls {
  const timed = { clock: () => performance.now(), ...options }
  const parts = { ...options, offers: createPaidOffers(timed), handshake: createPaidHandshake(timed) }
  return {
    tools: createPaidCallPath(parts),
    plans: createPaidPlanPath(parts),
  }
}
