import { ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { JUST_CLAIMED, type Payment } from '../../../projections/index.ts'
import type {
  Claim,
  ClaimedPayment,
  Payments,
  PresentedPayment,
  VerifiedPayment,
} from '../../payments/index.ts'

/** A payment header as the fake reads it. */
export interface FakePayment {
  readonly nonce: number
  readonly value: number
  readonly rail?: 'direct' | 'gateway'
  readonly payer?: number
}

/** Payments without signatures, chain and log; what is wrong with them is set by the test. */
export interface FakePayments extends Payments {
  readonly claims: (Claim & { readonly stream: string })[]
  /** Names of the questions in the order they were asked. */
  readonly asked: string[]
  /** Thrown by the question of this name, until it is deleted. */
  readonly failures: Map<keyof Payments, ServiceError>
  /** What `find` does not know and `claim` does: a claim of another process that came in between. */
  hideClaims: boolean
  /** Whether the money of all payments is there. */
  isSettled: boolean
  /** What those wait for whose money comes before their answer, and how many do. */
  whenSettled: () => Promise<void>
  waiting: number
  taking: boolean
}

/** Header lines with a payment. */
export const paymentHeaders = (payment: FakePayment): string[] => ['X-PAYMENT', JSON.stringify(payment)]

export function fakePayments(change: Partial<Pick<Payments, 'isOffering'>> = {}): FakePayments {
  const claimed = new Map<string, ClaimedPayment>()
  const failing = (name: keyof Payments): void => {
    fake.asked.push(name)
    const failure = fake.failures.get(name)
    if (failure !== undefined) throw failure
  }
  const newest = (payment: Payment): Payment =>
    fake.isSettled ? { ...payment, state: 'confirmed', transaction: `0x${'ab'.repeat(32)}` } : payment
  const fake: FakePayments = {
    claims: [],
    asked: [],
    failures: new Map(),
    hideClaims: false,
    isSettled: false,
    whenSettled: async () => undefined,
    waiting: 0,
    taking: true,
    isOffering: true,
    isTaking: () => fake.taking,
    quote: ({ product, price, url }, error) => {
      fake.asked.push('quote')
      const body: JsonObject = { x402Version: 1, error, accepts: [{ maxAmountRequired: `${price}` }] }
      return { body, header: Buffer.from(JSON.stringify({ error, url, product })).toString('base64') }
    },
    read(rawHeaders) {
      const index = rawHeaders.findIndex((name, at) => at % 2 === 0 && name.toLowerCase() === 'x-payment')
      if (index < 0) return undefined
      failing('read')
      return presentedOf(JSON.parse(rawHeaders[index + 1] ?? '') as FakePayment)
    },
    async verify(presented, price) {
      failing('verify')
      if (presented.value === price) return { ...presented, stream: streamOf(presented) }
      const reason = 'invalid_exact_evm_payload_authorization_value'
      throw new ServiceError('payment_refused', { message: 'not the price', details: { reason } })
    },
    async find(presented) {
      failing('find')
      const known = fake.hideClaims ? undefined : claimed.get(streamOf(presented))
      return known && { ...known, payment: newest(known.payment), isReplay: true, isSigned: true }
    },
    async requirePayable() {
      failing('requirePayable')
    },
    async claim(payment, claim) {
      failing('claim')
      const known = claimed.get(payment.stream)
      if (known !== undefined) return { ...known, isReplay: true }
      fake.claims.push({ ...claim, stream: payment.stream })
      const { requestHash, answer } = claim
      const made = { payment: paymentOf(payment, claim), requestHash, answer, isReplay: false }
      claimed.set(payment.stream, made)
      return made
    },
    async servable({ payment }, signal) {
      failing('servable')
      if (signal.aborted) throw new ServiceError('payment_pending')
      fake.waiting += 1
      await fake.whenSettled()
      return newest(payment)
    },
    async give(payment) {
      failing('give')
      return payment
    },
    async withhold() {
      failing('withhold')
    },
    async planNotBegun() {
      failing('planNotBegun')
    },
    signedReceipt: () => undefined,
    receipt: ({ transaction }, protocol) =>
      transaction === null
        ? undefined
        : { name: protocol === 1 ? 'X-PAYMENT-RESPONSE' : 'PAYMENT-RESPONSE', value: transaction },
    async show(paymentId) {
      const found = [...claimed.values()].find(({ payment }) => payment.paymentId === paymentId)
      if (found === undefined) throw new ServiceError('payment_unknown')
      return found.payment
    },
  }
  return Object.assign(fake, change)
}

const streamOf = ({ nonce }: PresentedPayment): string => `payment-${nonce}`

const PAYER = `0x${'11'.repeat(20)}` as const

const presentedOf = ({ nonce, value, rail = 'direct', payer }: FakePayment): PresentedPayment => ({
  protocol: 1,
  rail,
  payer: payer === undefined ? PAYER : `0x${payer.toString(16).padStart(40, '0')}`,
  payTo: `0x${'22'.repeat(20)}`,
  value: BigInt(value),
  validAfter: 0n,
  validBefore: 1_800_000_000n,
  nonce: `0x${nonce.toString(16).padStart(64, '0')}`,
  signature: `0x${'00'.repeat(65)}`,
  scheme: 'exact',
  network: 'base',
  asset: undefined,
})

let claims = 0

const paymentOf = (
  { stream, rail, value, payer }: VerifiedPayment,
  { product, accountId }: Claim,
): Payment => ({
  ...JUST_CLAIMED,
  paymentId: `019abcde-7c00-7001-8000-${(++claims).toString(16).padStart(12, '0')}`,
  stream,
  rail,
  product,
  payer,
  value: value.toString(),
  accountId,
  isServedFirst: rail === 'direct' && accountId === null,
  validBeforeS: 1_800_000_000,
  claimedAtMs: Date.UTC(2026, 10, 21),
  changedAtMs: Date.UTC(2026, 10, 21),
})
