import { formatUsdc } from '../../../contracts/domain/chain.ts'
import type { Rail } from '../../../contracts/events/payment-events.ts'
import { paymentStream } from '../../../contracts/events/streams.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { PresentedPayment, VerifiedPayment } from '../payments.ts'
import { paymentRefusedError, shown } from '../refusal.ts'
import { contractOf, type RecoverSigner } from './recover-signer.ts'

export interface VerifyPaymentOptions {
  /** Whom payments are for, in lower case. */
  readonly payTo: string
  readonly recovery: RecoverSigner
}

/** How long an authorization must and may be valid from now on, in seconds. */
const VALIDITY: Readonly<Record<Rail, { readonly least: number; readonly most: number }>> = {
  direct: { least: LIMITS.paymentValidityLeastS, most: LIMITS.paymentValidityMostS },
  gateway: { least: LIMITS.gatewayValidityLeastS, most: LIMITS.gatewayValidityMostS },
}

/**
 * Whether a payment was signed by its payer, for us, over exactly the price that is asked. Comparisons come first and
 * the form of the signature next, so that only what could be true costs a recovery, a tenth of a millisecond.
 *
 * @param price millionths of a USDC
 * @throws ServiceError `payment_refused` with `details.reason` in the words of x402
 */
export async function verifyPayment(
  presented: PresentedPayment,
  price: bigint,
  { payTo, recovery }: VerifyPaymentOptions,
): Promise<VerifiedPayment> {
  requireOurs(presented, payTo)
  requirePrice(presented, price)
  const fault = signatureFault(presented.signature)
  if (fault !== undefined) throw invalidSignatureError(`The signature cannot be used: ${fault}.`)
  const signer = await recovery(presented, presented.signature)
  if (signer !== presented.payer) {
    throw invalidSignatureError(
      `The authorization is from ${presented.payer}, and was signed by ${signer ?? 'nobody'} or over something else.`,
    )
  }
  return { ...presented, stream: streamOf(presented) }
}

/** The stream of its claim, which names what was signed and not who says so: also before a payment is verified. */
export const streamOf = ({ on, rail, payer, nonce }: PresentedPayment): string =>
  paymentStream({ chainId: on.id, contract: contractOf(rail, on), payer, nonce })

function requireOurs({ on, protocol, network, asset, payTo }: PresentedPayment, ours: string): void {
  const expected = protocol === 1 ? on.networkV1 : on.network
  if (network !== expected) {
    throw paymentRefusedError(
      'invalid_network',
      `The network is ${shown(network)}; it must be "${expected}".`,
    )
  }
  if (asset !== undefined && asset.toLowerCase() !== on.usdc.toLowerCase()) {
    throw paymentRefusedError(
      'invalid_payment_requirements',
      `The asset is ${shown(asset)}; it must be USDC, ${on.usdc}.`,
    )
  }
  if (payTo !== ours) {
    throw paymentRefusedError(
      'invalid_exact_evm_payload_recipient_mismatch',
      `The authorization is to ${payTo}; it must be to ${ours}.`,
    )
  }
}

function requirePrice({ protocol, value }: PresentedPayment, price: bigint): void {
  if (value === price) return
  throw paymentRefusedError(
    protocol === 1
      ? 'invalid_exact_evm_payload_authorization_value'
      : 'invalid_exact_evm_payload_authorization_value_mismatch',
    `The authorization is over ${formatUsdc(value)} USDC; this request costs exactly ${formatUsdc(price)}.`,
  )
}

/**
 * Whether there is time to settle an authorization. The token compares times strictly (ts > validAfter,
 * ts < validBefore), and so is it done here.
 *
 * @param now Unix milliseconds
 * @throws ServiceError `payment_refused` with `details.reason` in the words of x402
 */
export function requireValidity({ rail, validAfter, validBefore }: PresentedPayment, now: number): void {
  const nowS = Math.floor(now / 1_000)
  if (validAfter >= BigInt(nowS)) {
    throw paymentRefusedError(
      'invalid_exact_evm_payload_authorization_valid_after',
      `The authorization is valid after ${validAfter}; it is ${nowS} now.`,
    )
  }
  const { least, most } = VALIDITY[rail]
  const leftS = validBefore - BigInt(nowS)
  if (leftS >= BigInt(least) && leftS <= BigInt(most)) return
  throw paymentRefusedError(
    'invalid_exact_evm_payload_authorization_valid_before',
    `The authorization is valid for ${leftS} seconds from now; it must be for ${least} to ${most}.`,
  )
}

const invalidSignatureError = (message: string) =>
  paymentRefusedError('invalid_exact_evm_payload_signature', message)

/** Half the order of the curve (SEC 2 §2.4.1): of the two values that s can have, the token takes the lower one. */
const HIGHEST_S = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0'
const ORDER = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'
const ZERO = '0'.repeat(64)

/**
 * The reason why the token would not take a signature; undefined if its form is valid. Recovery accepts more: a high s,
 * and a v of 0 or 1, that the token reverts on. A payer who flips s would be served for nothing.
 *
 * @param signature hexadecimal digits in lower case, with 0x in front
 */
function signatureFault(signature: string): string | undefined {
  if (signature.length !== 132) {
    return `the signature has ${(signature.length - 2) / 2} bytes and must have 65: accounts with code are not taken yet`
  }
  const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)]
  if (v !== '1b' && v !== '1c') return `its v is ${Number.parseInt(v, 16)} and must be 27 or 28`
  // Digits of one length and case: their order as text is that of the numbers.
  if (r === ZERO || r >= ORDER) return 'its r is not a number of the curve'
  if (s === ZERO || s > HIGHEST_S) return 'its s is zero or in the upper half, which the token does not take'
  return undefined
}
