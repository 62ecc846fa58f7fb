import { hash } from 'node:crypto'
import { assert } from '../../../contracts/assert.ts'
import type { PaymentChain } from '../../../contracts/chain.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Revision } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { type EventDefinition, newEvent } from '../../../contracts/event-definition.ts'
import { isoDay } from '../../../contracts/iso-time.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { RefundSent } from '../../../contracts/payment-events.ts'
import { RefundAllotted, RefundAuthorised, RefundBegun } from '../../../contracts/refund-events.ts'
import { refundStream, refundsOfDayStream } from '../../../contracts/streams.ts'
import { appendedOr, appendUntilKnown, LOOKS_AGAIN } from '../../log/append-until-known.ts'
import type { EventStore } from '../../log/event-store.ts'
import { executeCommand } from '../../log/execute-command.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { LoadedPayment } from '../loaded-payment.ts'
import { createCreditLedger } from './credit-ledger.ts'
import { decideRefundWay, type RefundStep } from './decide-refund-step.ts'
import type { RefundWallet } from './refund-wallet.ts'

/** The tools of a refund. Amounts are millionths of a USDC. */
export interface RefundTools extends Pick<Clock, 'now' | 'sleep'> {
  readonly on: PaymentChain
  readonly store: EventStore
  /** Undefined where refunds are credits. */
  readonly wallet: RefundWallet | undefined
  /** X402_REFUND_DAILY_CAP: transfers of one UTC day. */
  readonly dailyCap: bigint
  /** How long the transfer of a refund can be sent, seconds. */
  readonly validityS: number
  readonly newId: () => string
  /** Told what an operator should know. Holds no secrets. */
  readonly report: (event: string, details: Readonly<Record<string, string | number>>) => void
  /** The balance of the wallet now. @throws ServiceError `payments_unavailable` */
  readonly balance: () => Promise<bigint | undefined>
  /** Transfers that are on their way out of the wallet, and not out of its balance. */
  readonly promised: () => bigint
  /** Told of a transfer that was begun just now. */
  readonly began: (paymentId: string, value: bigint) => void
}

const UNKNOWN = { what: 'a refund was recorded', again: 'The settler looks at it again by itself.' }

/** Appends behind what it was decided on. @returns false where somebody was quicker: the next look decides anew */
async function append(
  tools: RefundTools,
  stream: string,
  expected: Revision | 'no-stream',
  definition: EventDefinition,
  data: JsonObject & { readonly paymentId: string },
  signal: AbortSignal,
): Promise<boolean> {
  const { paymentId } = data
  const meta = { correlationId: paymentId, causationId: paymentId, actor: 'settler' }
  const event = newEvent(definition, { id: tools.newId(), data, meta })
  const placed = { stream, events: [event], expected }
  const outcome = await appendUntilKnown({ ...tools, policy: LOOKS_AGAIN, signal }, placed)
  return appendedOr(outcome, UNKNOWN) !== undefined
}

/**
 * Takes a place under the cap of the day, once for a payment: the day's stream decides, however many processes ask.
 *
 * @returns false where the cap leaves no room
 */
async function allot(
  tools: RefundTools,
  paymentId: string,
  value: bigint,
  signal: AbortSignal,
): Promise<boolean> {
  const { store, dailyCap, newId, now } = tools
  const day = isoDay(now())
  const stream = refundsOfDayStream(day)
  const { result } = await executeCommand(
    { ...tools, policy: LOOKS_AGAIN, signal },
    {
      stream,
      async load() {
        let revision: Revision | 'no-stream' = 'no-stream'
        let [total, isKnown] = [0n, false]
        for await (const recorded of store.read(stream)) {
          const event = decodeEvent(recorded)
          revision = recorded.revision
          if (event.type !== 'RefundAllotted') continue
          total = BigInt(event.data.total)
          isKnown ||= event.data.paymentId === paymentId
        }
        return { state: { total, isKnown }, revision }
      },
      decide({ total, isKnown }) {
        const after = total + value
        if (isKnown) return { events: [], result: true }
        if (after > dailyCap) return { events: [], result: false }
        assert(after > total && after <= dailyCap, 'refunds of a day stay within its cap', after)
        const data = { paymentId, day, value: value.toString(), total: after.toString() }
        const meta = { correlationId: paymentId, causationId: paymentId, actor: 'settler' }
        return { events: [newEvent(RefundAllotted, { id: newId(), data, meta })], result: true }
      },
      unknown: UNKNOWN,
    },
  )
  return result
}

async function begin(
  tools: RefundTools,
  { stream, revision, payment }: LoadedPayment,
  { value, cause }: Extract<RefundStep, { kind: 'begin' }>,
  signal: AbortSignal,
): Promise<void> {
  const { paymentId } = payment
  const { dailyCap: cap, report } = tools
  assert(payment.state === 'final', 'only a final payment is given back', payment.state)
  assert(payment.refund === null, 'a payment is given back once', paymentId)
  assert(value <= BigInt(payment.value), 'no more is given back than was paid', value)
  const purse = { balance: await tools.balance(), promised: tools.promised(), allotted: 0n, cap }
  const way = decideRefundWay(value, purse)
  const isAllotted = way === 'transfer' && (await allot(tools, paymentId, value, signal))
  const why = way === 'transfer' ? (isAllotted ? null : 'daily_cap') : way
  const by = why === null ? 'transfer' : 'credit'
  const data = { paymentId, by, value: value.toString(), cause, why }
  if (!(await append(tools, stream, revision, RefundBegun, data, signal))) return
  if (by === 'transfer') tools.began(paymentId, value)
  report('refund_begun', { paymentId, by, value: value.toString(), cause, ...(why && { why }) })
}

async function authorise(
  tools: RefundTools,
  { payment, claim }: LoadedPayment,
  value: bigint,
  signal: AbortSignal,
): Promise<void> {
  const { on, wallet, now, validityS } = tools
  const { paymentId } = payment
  // It was begun with a wallet, and there is none any more: it waits for it, and the health says so.
  if (wallet === undefined) throw noWalletError(paymentId)
  const validBefore = Math.floor(now() / 1_000) + validityS
  assert(payment.refund?.by === 'transfer', 'only a refund by transfer is signed', paymentId)
  assert(BigInt(payment.refund.value) === value, 'a transfer gives back what was begun', value)
  const nonce = `0x${hash('sha256', `refund of ${paymentId}`)}` as const
  const to = claim.payer as `0x${string}`
  const signature = await wallet.sign({ to, value, validBefore, nonce })
  const data = {
    paymentId,
    chainId: on.id,
    contract: on.usdc.toLowerCase(),
    from: wallet.address,
    to,
    value: value.toString(),
    validBefore,
    nonce,
    signature: signature.toLowerCase(),
  }
  await append(tools, refundStream(paymentId), 'no-stream', RefundAuthorised, data, signal)
}

/** Does what a refund needs next. What somebody else was quicker with is decided anew at the next look. */
export async function carryOutRefund(
  tools: RefundTools,
  loaded: LoadedPayment,
  step: RefundStep,
  signal: AbortSignal,
): Promise<void> {
  const { stream, revision, payment } = loaded
  const { paymentId, payer } = payment
  switch (step.kind) {
    case 'nothing':
    case 'wait':
      return
    case 'begin':
      return begin(tools, loaded, step, signal)
    case 'authorise':
      return authorise(tools, loaded, step.value, signal)
    case 'sent': {
      const reason = payment.refund?.cause ?? 'refund'
      const { transaction, value } = step
      assert(transaction !== '', 'a transfer that is final has a transaction', paymentId)
      assert(value <= BigInt(payment.value), 'no more is sent back than was paid', value)
      const data = { paymentId, value: value.toString(), transaction, reason }
      return void (await append(tools, stream, revision, RefundSent, data, signal))
    }
    case 'credit': {
      const { value, cause } = step
      assert(payment.refund?.by === 'transfer', 'only a transfer becomes a credit instead', paymentId)
      const data = { paymentId, by: 'credit', value: value.toString(), cause, why: 'not_sent' }
      return void (await append(tools, stream, revision, RefundBegun, data, signal))
    }
    case 'giveCredit':
      assert(step.value <= BigInt(payment.value), 'a credit is given of no more than was paid', step.value)
      return createCreditLedger({ ...tools, signal }).give(payer, paymentId, step.value)
  }
}

const noWalletError = (paymentId: string): ServiceError =>
  new ServiceError('payments_unavailable', {
    message: `The refund of payment ${paymentId} is to be transferred, and X402_REFUND_KEY is not set any more.`,
  })
