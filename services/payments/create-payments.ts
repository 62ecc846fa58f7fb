import type { PaymentChain } from '../../contracts/domain/chain.ts'
import { assert } from '../../contracts/errors/assert.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { builtEvent, newEvent } from '../../contracts/events/event-definition.ts'
import { PaymentClaimed, type Rail } from '../../contracts/events/payment-events.ts'
import type { NewEvent } from '../../contracts/infra/event.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { EventStore } from '../log/event-store.ts'
import type { Clock } from '../runtime/async/clock.ts'
import type { Chain } from './chain/chain.ts'
import { abandonClaim, awaitSettlement } from './claims/await-settlement.ts'
import { decideClaim, type KnownFunds } from './claims/decide-claim.ts'
import { createExposureLedger, type ExposureLedger } from './claims/exposure-ledger.ts'
import { createPaymentLog, isServable, type LoadedPayment, type PaymentLog } from './payment.ts'
import type { PaymentIndex } from './payment-index.ts'
import type {
  Claim,
  ClaimedPayment,
  FoundClaim,
  Payments,
  PresentedPayment,
  VerifiedPayment,
} from './payments.ts'
import { makeQuote, receiptOf } from './quote/quote.ts'
import { readPayment } from './reading/read-payment.ts'
import { paymentRefusedError } from './refusal.ts'
import type { Facilitator } from './settlement/facilitator.ts'
import { createPayerCheck, type PayerCheck } from './verification/check-payer.ts'
import { contractOf, type RecoverSigner } from './verification/recover-signer.ts'
import { createReplaySecrets, readSecret } from './verification/replay-secret.ts'
import { requireValidity, streamOf, verifyPayment } from './verification/verify-payment.ts'

export interface PaymentsOptions extends Clock {
  /** Secret bytes that secrets of payments are derived from; the same in every process of a log. */
  readonly proofKey: Uint8Array
  readonly on: PaymentChain
  readonly store: EventStore
  /** Undefined where this process keeps no read models: payments are quoted then, and not taken. */
  readonly index: PaymentIndex | undefined
  /** Answers for payers on the direct rail. Undefined if no node is configured. */
  readonly chain: Chain | undefined
  /** Settles payments of the gateway rail. */
  readonly gateway?: Pick<Facilitator, 'verify'> | undefined
  /** X402_PAY_TO: whom payments are for. Undefined where nothing is offered. */
  readonly payTo: string | undefined
  /** Whether the payment gateway is offered as a second rail. */
  readonly offersGateway: boolean
  /** The rails that somebody settles. */
  readonly taking: readonly Rail[]
  /** X402_PAYER_CAP and X402_TOTAL_CAP, millionths of a USDC. */
  readonly caps: { readonly payer: bigint; readonly total: bigint }
  /** Undefined where nothing is offered. */
  readonly recovery: RecoverSigner | undefined
  /** Ids that begin with their time: payments are listed by them. */
  readonly newId: () => string
}

export interface RunningPayments extends Payments {
  /** Ends the background work. Callers that wait for a settlement get `payment_pending`. */
  close(): Promise<void>
}

/** The parts that the functions of this file share. */
interface PaymentParts extends PaymentsOptions {
  readonly log: PaymentLog
  readonly exposure: ExposureLedger
  readonly checkPayer: PayerCheck
  readonly secrets: ReturnType<typeof createReplaySecrets>
  /** The funds that payers had when they were checked, for the claim that follows. */
  readonly funds: WeakMap<VerifiedPayment, KnownFunds>
}

/** How soon a payment may be taken again where as many wait as may: settling takes seconds. */
const ROOM_RETRY_AFTER_S = 5

/** Payments over the log. */
export function createPayments(options: PaymentsOptions): RunningPayments {
  const { on, index, payTo, offersGateway, taking, recovery, sleep, elapsed } = options
  const ending = new AbortController()
  const { signal } = ending
  const parts = partsOf(options, signal)
  const { log, exposure } = parts
  const ours = payTo?.toLowerCase()

  return {
    isOffering: ours !== undefined,
    isTaking: (rail) => ours !== undefined && index !== undefined && taking.includes(rail),
    quote: (offered, error) => makeQuote({ on, payTo: ours, offersGateway }, offered, error),
    read(rawHeaders) {
      const presented = readPayment(rawHeaders, on)
      return presented && { ...presented, secret: readSecret(rawHeaders) }
    },
    async verify(presented, price) {
      if (ours === undefined || recovery === undefined) throw notOfferingError()
      return verifyPayment(presented, price, { payTo: ours, recovery })
    },
    find: (presented, accountId) => findClaim(parts, presented, accountId),
    secretOf: ({ paymentId }) => parts.secrets.secretOf(paymentId),
    requirePayable: (payment, claim) => requirePayable(parts, payment, claim),
    claim: (payment, claim) => claimPayment(parts, payment, claim),
    async servable({ payment }, waiting) {
      if (isServable(payment)) return payment
      return awaitSettlement(payment, AbortSignal.any([waiting, signal]), { log, elapsed, sleep })
    },
    abandon: (payment) => abandonClaim(payment, log),
    receipt: (payment, protocol) => receiptOf(payment, { on, protocol }),
    async show(paymentId) {
      const payment = index?.payment(paymentId) ?? exposure.recent(paymentId)
      if (payment !== undefined) return payment
      throw new ServiceError('not_found', { message: `There is no payment ${paymentId}.` })
    },
    async close() {
      ending.abort()
    },
  }
}

function partsOf(options: PaymentsOptions, signal: AbortSignal): PaymentParts {
  return {
    ...options,
    log: createPaymentLog({ ...options, signal }),
    exposure: createExposureLedger(options.index),
    checkPayer: createPayerCheck({ ...options, signal }),
    secrets: createReplaySecrets(options.proofKey),
    funds: new WeakMap(),
  }
}

/** The claim of an authorization, for its payer; a plan is for the account of the key that came along. */
async function findClaim(
  { log, secrets }: PaymentParts,
  presented: PresentedPayment,
  accountId: string | null,
): Promise<FoundClaim | undefined> {
  const loaded = await log.load(streamOf(presented))
  if (loaded === undefined) return undefined
  const { payment, claim, isSignatureOnChain } = loaded
  const isOfAccount = accountId !== null && payment.accountId === accountId
  if (isSignatureOnChain && !isOfAccount) secrets.require(presented.secret, payment.paymentId)
  return { ...claimedOf(loaded, true), isOwn: isSignatureOnChain || claim.signature === presented.signature }
}

const claimedOf = ({ payment, claim }: LoadedPayment, isReplay: boolean): ClaimedPayment => ({
  payment,
  requestHash: claim.requestHash,
  answer: claim.answer,
  isReplay,
})

/** Whether a payment can become money, as far as it can be told beforehand. */
async function requirePayable(
  parts: PaymentParts,
  payment: VerifiedPayment,
  { product, mustSettleFirst }: Pick<Claim, 'product' | 'mustSettleFirst'>,
): Promise<void> {
  const { exposure, checkPayer, funds, caps, now } = parts
  const { rail, payer, value } = payment
  const before = exposure.of(payer, rail)
  // A payer without room is refused before anything costs a look at its funds.
  const hoped = { balance: before.awaited + value, isAll: false }
  const decision = decideClaim(before, { rail, value, mustSettleFirst, funds: hoped }, caps)
  if (decision.kind === 'refuse') throw noRoomError(payer, decision.why)
  requireValidity(payment, now())
  const known = await checkPayer(payment, product, before.awaited)
  if (known !== undefined) funds.set(payment, known)
}

async function claimPayment(
  parts: PaymentParts,
  payment: VerifiedPayment,
  claim: Claim,
): Promise<ClaimedPayment> {
  const { log, exposure, caps, funds } = parts
  const { rail, value, payer, stream } = payment
  const { mustSettleFirst } = claim
  assert(value > 0n, 'a claim is over more than nothing', value)
  assert(claim.answer !== '', 'a claim has its answer', stream)
  const exposed = exposure.of(payer, rail)
  const terms = { rail, value, mustSettleFirst, funds: funds.get(payment) }
  const decision = decideClaim(exposed, terms, caps)
  if (decision.kind === 'refuse') throw noRoomError(payer, decision.why)
  const { isServedFirst } = decision
  assert(!(isServedFirst && mustSettleFirst), 'a plan is never served before its money is there', stream)
  assert(!isServedFirst || exposed.debt === 0n, 'a payer in debt is not served first', payer)
  const event = claimEvent(parts, payment, claim, isServedFirst)
  // Counted before it is appended, and without waiting in between: the next one decides with it.
  const reservation = exposure.reserve({ payer, rail, value, isServedFirst })
  let isLanded = false
  try {
    const loaded = await log.claim(stream, event)
    if (loaded === undefined) return await claimOfAnother(log, stream)
    assert(BigInt(loaded.payment.value) === value, 'a claim is over what was signed', loaded.payment.value)
    reservation.landed(loaded.payment, loaded.position)
    isLanded = true
    return claimedOf(loaded, false)
  } finally {
    if (!isLanded) reservation.release()
  }
}

/** Somebody else was quicker with the same authorization: theirs is the claim. */
async function claimOfAnother(log: PaymentLog, stream: string): Promise<ClaimedPayment> {
  const loaded = await log.load(stream)
  if (loaded !== undefined) return claimedOf(loaded, true)
  throw new ServiceError('outcome_unknown', {
    message: `The log has a claim of this payment and does not show it yet. Send the same request with the same payment again: it is charged once.`,
  })
}

function claimEvent(
  { newId }: PaymentParts,
  payment: VerifiedPayment,
  claim: Claim,
  isServedFirst: boolean,
): NewEvent {
  const { on, rail, protocol, payer, payTo, value, validAfter, validBefore, nonce, signature } = payment
  const { product, requestHash, answer, accountId, requestId, traceparent } = claim
  const data = {
    paymentId: newId(),
    rail,
    protocol,
    chainId: on.id,
    contract: contractOf(rail, on),
    asset: on.usdc.toLowerCase(),
    payer,
    payTo,
    value: value.toString(),
    validAfter: validAfter.toString(),
    // The longest validity that is taken fits a number many times over.
    validBefore: Number(validBefore),
    nonce,
    signature,
    product,
    requestHash,
    answer,
    accountId,
    isServedFirst,
  }
  const meta = { correlationId: requestId, actor: 'calls', ...(traceparent && { traceparent }) }
  const event = { id: newId(), data, meta }
  // The payer's words were checked when they were read. Only what may still be too much for the event is checked again.
  const isWithin = Number.isSafeInteger(data.validBefore) && answer.length <= SHORT_ANSWER
  return isWithin ? builtEvent(PaymentClaimed, event) : newEvent(PaymentClaimed, event)
}

/** Characters; an event takes several times as many. */
const SHORT_ANSWER = 65_536

const noRoomError = (payer: string, why: 'funds' | 'payer' | 'all'): ServiceError =>
  why === 'funds'
    ? paymentRefusedError(
        'insufficient_funds',
        `${payer} has promised the USDC that it has to other payments.`,
      )
    : new ServiceError('payments_unavailable', {
        message: `${why === 'payer' ? `${LIMITS.claimsWaitingPerPayer} payments of ${payer}` : `${LIMITS.claimsWaiting} payments`} wait for their settlement, as many as may; this request charged nothing.`,
        details: { retry_after_s: ROOM_RETRY_AFTER_S },
        isForCallers: true,
      })

const notOfferingError = (): ServiceError =>
  new ServiceError('payments_unavailable', {
    message:
      'Payments are not configured here (X402_PAY_TO), so none can be for us; this request charged nothing.',
    isForCallers: true,
  })
