import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import { type EventDefinition, newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { isBalance } from '../../../contracts/prices.ts'
import { AnswerGiven, AnswerWithheld } from '../../../contracts/refund-events.ts'
import { CALLER_WAITS, type LogUse } from '../../log/append-until-known.ts'
import { executeCommand } from '../../log/execute-command.ts'
import type { LoadedPayment } from '../loaded-payment.ts'
import type { Payment } from '../state/payment-state.ts'
import type { PaymentLog } from './payment-log.ts'

export interface AnswerKeeperOptions extends LogUse {
  readonly log: PaymentLog
  readonly report: (event: string, details: Readonly<Record<string, string>>) => void
}

/** The step that giving an answer needs. */
export type Giving = 'give' | 'record' | 'refuse'

/**
 * Decides whether an answer may leave. `record`: the log says so first, because the answer was withheld or may still
 * be, or the payment is for a balance. `refuse`: the payment is being refunded.
 *
 * @param now Unix milliseconds
 */
export function decideGiving(payment: Payment, isReplay: boolean, now: number): Giving {
  if (payment.refund !== null) return 'refuse'
  // A plan is what its account has, and not what is answered.
  if (payment.accountId !== null || payment.isGiven || payment.state === 'refunded') return 'give'
  // What is paid in counts from here on, so it must not be refunded as well.
  if (payment.withheldAt !== null || isBalance(payment.product)) return 'record'
  const isInDoubt = isReplay && payment.isServedFirst && now - payment.claimedAtMs < 2 * LIMITS.answerDoubtMs
  return isInDoubt ? 'record' : 'give'
}

/**
 * Whether it is to be recorded that an answer was not given: once, and only of what nobody can have been given.
 *
 * @param isMaker whether who says so made the claim, and gave no answer
 */
export function decideWithholding(payment: Payment, code: string, isMaker: boolean): boolean {
  if (payment.withheldAt !== null || payment.isGiven || payment.refund !== null) return false
  if (payment.accountId !== null) return code === 'account_unknown'
  return isMaker || !payment.wasServable
}

const PURSUE_MS = 1_000

export type AnswerKeeper = ReturnType<typeof createAnswerKeeper>

/**
 * Keeps an answer from being given and refunded both: whichever is recorded first, in the stream of the payment, holds. Of
 * answers that leave at once nothing is recorded, and nothing can be withheld of them afterwards.
 */
export function createAnswerKeeper(options: AnswerKeeperOptions) {
  const { log, now, sleep, signal, report } = options
  const pursuits = new Set<Promise<void>>()

  async function withhold(stream: string, code: string, isMaker: boolean): Promise<void> {
    const definition = AnswerWithheld
    await record(options, stream, (payment) =>
      decideWithholding(payment, code, isMaker) ? { definition, code } : undefined,
    )
  }

  async function pursueClaim(stream: string, paymentId: string, code: string): Promise<void> {
    for (let waitedMs = 0; !signal.aborted && waitedMs < LIMITS.answerDoubtMs; waitedMs += PURSUE_MS) {
      await sleep(PURSUE_MS, signal)
      try {
        const loaded = await log.load(stream)
        if (loaded === undefined) continue
        // A claim of somebody else: nothing was charged by this request then.
        if (loaded.payment.paymentId === paymentId) await withhold(stream, code, true)
        return
      } catch (error) {
        if (!isServiceError(error)) throw error
        report('a claim that the log did not confirm is looked for again', { paymentId, code: error.code })
      }
    }
  }

  return {
    /**
     * Call it before an answer leaves. It records that the answer is given, if the answer was withheld before or may still
     * be recorded as withheld. Nothing is recorded of most answers.
     *
     * @param isReplay whether the claim was in the log before this request
     * @throws ServiceError `payment_refunded` where what was paid is given back; of the store
     */
    give: async (payment: Payment, isReplay: boolean) => {
      const known = decideGiving(payment, isReplay, now())
      if (known === 'give') return payment
      if (known === 'refuse') throw refundedError(payment)
      await record(options, payment.stream, (newest) => {
        const giving = decideGiving(newest, isReplay, now())
        if (giving === 'refuse') throw refundedError(newest)
        return giving === 'record' ? { definition: AnswerGiven } : undefined
      })
      return payment
    },
    /**
     * Records that the service failed to give an answer that nobody can have: the payment is given back unless the answer is
     * requested again in time. A failure to record it is reported and does not change the caller's answer.
     *
     * @param code of the error that the caller had instead
     */
    withhold: async ({ stream, paymentId }: Pick<Payment, 'stream' | 'paymentId'>, code: string) => {
      try {
        await withhold(stream, code, false)
      } catch (error) {
        if (!isServiceError(error)) throw error
        report('that an answer was not given is not recorded', { paymentId, code: error.code })
      }
    },
    /** The same of a plan that can never begin. @throws ServiceError of the store */
    planNotBegun: ({ stream }: Pick<Payment, 'stream'>) => withhold(stream, 'account_unknown', false),
    /** The same of a claim that the log did not confirm, as soon as it tells whether it has it. */
    pursue(stream: string, paymentId: string, code: string) {
      const pursuit = pursueClaim(stream, paymentId, code).finally(() => pursuits.delete(pursuit))
      pursuits.add(pursuit)
    },
    /** Resolves when nothing is pursued any more, which the signal ends. */
    ended: () => Promise.all(pursuits),
  }
}

/** Records what is decided over the newest state of a payment, if anything. */
async function record(
  options: AnswerKeeperOptions,
  stream: string,
  decide: (payment: Payment) => { readonly definition: EventDefinition; readonly code?: string } | undefined,
): Promise<void> {
  const { log, newId } = options
  const path = { ...options, policy: CALLER_WAITS }
  await executeCommand<LoadedPayment | undefined, undefined>(path, {
    stream,
    async load() {
      const state = await log.load(stream)
      return { state, revision: state === undefined ? 'no-stream' : state.revision }
    },
    decide(state) {
      const decided = state && decide(state.payment)
      if (decided === undefined || state === undefined) return { events: [], result: undefined }
      const { paymentId } = state.payment
      const meta = { correlationId: paymentId, causationId: paymentId, actor: 'calls' }
      const data = { paymentId, ...(decided.code !== undefined && { code: decided.code }) }
      return { events: [newEvent(decided.definition, { id: newId(), data, meta })], result: undefined }
    },
    unknown: { what: 'the answer may leave', again: 'Send the same request with the same payment again.' },
  })
}

const refundedError = ({ paymentId, refund }: Payment): ServiceError =>
  new ServiceError('payment_refunded', {
    message: `The answer of payment ${paymentId} was not given in time, and what was paid is given back as a ${refund?.by === 'credit' ? 'credit' : 'transfer'}.`,
    details: { payment_id: paymentId },
  })
