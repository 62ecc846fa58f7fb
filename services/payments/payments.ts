import type { Rail } from '../../contracts/events/payment-events.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { Product } from '../../contracts/tools/prices.ts'
import type { Payment } from './payment.ts'
import type { Authorization } from './verification/recover-signer.ts'

/** The product of an offer. */
export interface Offered {
  readonly product: Product
  /** Millionths of a USDC. */
  readonly price: bigint
  /** Absolute address of the route. */
  readonly url: string
  readonly description: string
  /** For discovery: an example of a request, and of its answer. */
  readonly example: { readonly request: JsonObject; readonly answer: JsonObject }
}

/** The answer 402 in both versions of x402. */
export interface Quote {
  /** Version 1: `{ x402Version, error, accepts }`. */
  readonly body: JsonObject
  /** Version 2: value of the header `PAYMENT-REQUIRED`. */
  readonly header: string
}

/** A payment header, decoded; nothing of it is checked but its shape. */
export interface PresentedPayment extends Authorization {
  readonly protocol: 1 | 2
  readonly signature: `0x${string}`
  /** As the client named them, to be compared with ours. */
  readonly scheme: string
  readonly network: string
  readonly asset: string | undefined
  /** The header `Payment-Secret`, which opens the answer of a settled payment; not checked yet. */
  readonly secret?: string | undefined
}

/** One that was signed by its payer, for us, over the price that was asked. */
export interface VerifiedPayment extends PresentedPayment {
  /** Stream of its claim. */
  readonly stream: string
}

/** The use of an authorization. */
export interface Claim {
  readonly product: Product
  readonly requestHash: string
  /** JSON text, without the metadata of the channel. */
  readonly answer: string
  readonly accountId: string | null
  /** Never served before its money has come. */
  readonly mustSettleFirst: boolean
  readonly requestId: string
  readonly traceparent?: string | undefined
}

/** A claim in the log. */
export interface ClaimedPayment {
  readonly payment: Payment
  readonly requestHash: string
  readonly answer: string
  /** True where it was in the log before. */
  readonly isReplay: boolean
}

/** A claim that was in the log before. */
export interface FoundClaim extends ClaimedPayment {
  /**
   * Whether the presenter is the payer: by the same signature that the claim has, while nobody else can know it, or by
   * a proof after that.
   */
  readonly isOwn: boolean
}

/**
 * Payments for single answers and plans: what is offered, what is taken, and what was claimed. Settling is the
 * settler's, who reads the claims from the log.
 */
export interface Payments {
  /** Whether offers can be made at all (X402_PAY_TO), and paid (a settler is configured), by rail. */
  readonly isOffering: boolean
  isTaking(rail: Rail): boolean
  /** @param error the field `error` for the caller, also in words of x402: `insufficient_funds` */
  quote(offered: Offered, error: string): Quote
  /**
   * The payment of a request; undefined where it brings none.
   *
   * @param rawHeaders names and values in turn, as Node has them: duplicates must be seen
   * @throws ServiceError `payment_malformed` (400) for what cannot be read, `payment_refused` (402) with
   *   `details.reason` for an unknown scheme or version
   */
  read(rawHeaders: readonly string[]): PresentedPayment | undefined
  /**
   * Cheap checks first, then the signature. Not how much time is left: an authorization that was claimed in time has
   * its answer also afterwards.
   *
   * @throws ServiceError `payment_refused` with `details.reason` from the vocabulary of x402
   */
  verify(presented: PresentedPayment, price: bigint): Promise<VerifiedPayment>
  /**
   * The claim of an authorization, with any outcome. It is looked up before anything is checked, since prices, recipients
   * and validity may have changed since. Once a transaction with the authorization is known, its signature is public, and
   * only the secret of the first answer finds the claim; the key of its account finds a plan.
   *
   * @param accountId of the key that came with the request, where it buys a plan
   * @throws ServiceError `payment_unproven`; of the store
   */
  find(presented: PresentedPayment, accountId: string | null): Promise<FoundClaim | undefined>
  /** The secret that opens the answer of a payment again. */
  secretOf(payment: Payment): string
  /**
   * Requires that there is time left to settle, and that the payer can pay, as the chain or the settler says. Call it
   * for an authorization without a claim, before anything is computed.
   *
   * @throws ServiceError `payment_refused` (validity, funds, nonce, code), `payments_unavailable`
   */
  requirePayable(payment: VerifiedPayment, claim: Pick<Claim, 'product' | 'mustSettleFirst'>): Promise<void>
  /**
   * Claims an authorization for an answer; durable when it resolves. The first claim holds. If the payer's funds are not
   * known, the payment is settled first.
   *
   * @throws ServiceError `payment_refused` where the payer has promised its money meanwhile, `payments_unavailable`
   *   where as many claims wait for their money as may; of the store, and then nothing was charged or the same
   *   request finds it
   */
  claim(payment: VerifiedPayment, claim: Claim): Promise<ClaimedPayment>
  /**
   * The payment once its answer may leave; at once where it is served first.
   *
   * @throws ServiceError `payment_pending` where that takes too long, `payment_refused` where its money never comes
   */
  servable(claimed: ClaimedPayment, signal: AbortSignal): Promise<Payment>
  /** Gives up a claim whose caller has gone before anything was sent for it; any other stays as it is. */
  abandon(payment: Payment): Promise<void>
  /** Values of `X-PAYMENT-RESPONSE` or `PAYMENT-RESPONSE`; undefined while no transaction is known. */
  receipt(payment: Payment, protocol: 1 | 2): { readonly name: string; readonly value: string } | undefined
  /** @throws ServiceError `not_found` */
  show(paymentId: string): Promise<Payment>
}
