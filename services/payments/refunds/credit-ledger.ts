import { assert } from '../../../contracts/assert.ts'
import { formatUsdc, type PaymentChain } from '../../../contracts/chain.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent, RecordedEvent } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { CreditGiven, CreditUsed } from '../../../contracts/refund-events.ts'
import { creditStream } from '../../../contracts/streams.ts'
import { CALLER_WAITS, type LogUse } from '../../log/append-until-known.ts'
import { createStreamRepository } from '../../log/stream-repository.ts'
import type { Payment } from '../state/payment-state.ts'
import { creditReturnId } from '../state/payments.ts'

export interface CreditLedgerOptions extends LogUse {
  readonly on: PaymentChain
}

const NOTHING = { result: undefined } as const

/** The credit of one payer as its stream tells it. */
interface Credit {
  readonly balance: bigint
  /** Payments that it was given for. */
  readonly given: Set<string>
  /** Amounts by the authorization that they were taken for. */
  readonly taken: Map<string, bigint>
}

/**
 * Whether credit was taken for an authorization before. A payer can sign many amounts under one nonce, which is all that
 * the name of an authorization tells: credit that was taken for one of them covers no other.
 *
 * @throws ServiceError `payment_mismatch`
 */
function wasTaken({ taken }: Credit, authorization: string, value: bigint): boolean {
  const amount = taken.get(authorization)
  if (amount === undefined || amount === value) return amount !== undefined
  throw new ServiceError('payment_mismatch', {
    message: `A credit of ${formatUsdc(amount)} USDC was taken for an authorization with this nonce, and this one is over ${formatUsdc(value)} USDC; nothing was charged.`,
    nextStep: 'Sign a new authorization with a nonce of its own.',
  })
}

/** Payers whose credit is kept, so that a call reads only what came since the one before. */
const KEPT_PAYERS = 256

const NONE: Credit = { balance: 0n, given: new Set(), taken: new Map() }

/** The sets of a payer only grow, and are the same in each of its states: what they know more is in the log as well. */
function evolve(credit: Credit, recorded: RecordedEvent): Credit {
  const event = decodeEvent(recorded)
  if (event.type !== 'CreditGiven' && event.type !== 'CreditUsed') return credit
  const { given, taken } =
    credit === NONE ? { given: new Set<string>(), taken: new Map<string, bigint>() } : credit
  if (event.type === 'CreditGiven') given.add(event.data.paymentId)
  else taken.set(event.data.authorization, BigInt(event.data.value))
  return { balance: BigInt(event.data.balance), given, taken }
}

export type CreditLedger = ReturnType<typeof createCreditLedger>

/** The credits of payers: for payments in vain, and paid in for calls to come. Amounts are millionths of a USDC. */
export function createCreditLedger(options: CreditLedgerOptions) {
  const { on, newId } = options
  const credits = createStreamRepository<Credit>({
    ...options,
    policy: CALLER_WAITS,
    streamOf: (payer) => creditStream(on.id, payer),
    initial: NONE,
    evolve,
    keep: KEPT_PAYERS,
  })

  async function change<Result>(
    payer: string,
    decide: (credit: Credit) => { readonly event?: NewEvent; readonly result: Result },
  ): Promise<Result> {
    const unknown = {
      what: 'the credit was changed',
      again: 'The same request with the same payment finds it: it is changed once.',
    }
    const decideOnce = (credit: Credit) => {
      const { event, result } = decide(credit)
      return { events: event === undefined ? [] : [event], result }
    }
    return (await credits.execute(payer, decideOnce, unknown)).result
  }

  function given(payer: string, paymentId: string, value: bigint, balance: bigint) {
    assert(value > 0n, 'a credit that is given is more than nothing', value)
    assert(balance >= 0n, 'a credit to which is added is not below zero', balance)
    const meta = { correlationId: paymentId, causationId: paymentId, actor: 'settler' }
    const data = { payer, paymentId, value: value.toString(), balance: (balance + value).toString() }
    return { event: newEvent(CreditGiven, { id: newId(), data, meta }), result: undefined }
  }

  return {
    /** Gives a credit as the refund of a payment, or for one that paid it in, once however often it is called. @throws ServiceError of the store */
    give: (payer: string, paymentId: string, value: bigint) =>
      change(payer, (credit) =>
        credit.given.has(paymentId) ? NOTHING : given(payer, paymentId, value, credit.balance),
      ),
    /**
     * Gives back credit that was taken for an authorization and did not pay for its claim, once however often it is
     * called. A refund of the same payment is owed besides, so it has a name of its own in the log.
     *
     * @param payment what was claimed without it, if anything
     */
    giveBack: (payer: string, authorization: string, payment: Payment | undefined) =>
      change(payer, (credit) => {
        const amount = credit.taken.get(authorization)
        assert(amount !== undefined, 'credit comes back that was taken', authorization)
        const name = creditReturnId(authorization)
        // A former release gave it back under the name of the payment, which is a refund's where there is one.
        const wasBack = payment?.refund === null && credit.given.has(payment.paymentId)
        if (wasBack || credit.given.has(name)) return NOTHING
        return given(payer, name, amount, credit.balance)
      }),
    /**
     * Whether there is enough for an authorization, or it was taken for it before.
     *
     * @throws ServiceError `payment_mismatch` where it was taken for another amount under the same nonce; of the store
     */
    async covers(payer: string, authorization: string, value: bigint) {
      const { state } = await credits.load(payer)
      return wasTaken(state, authorization, value) || state.balance >= value
    },
    /** The credit that is left to a payer. */
    left: async (payer: string) => (await credits.load(payer)).state.balance,
    /**
     * Takes credit for an authorization, once however often it is called.
     *
     * @param authorization stream of its claim
     * @returns whether there was enough, or it was taken before
     * @throws ServiceError `payment_mismatch` where it was taken for another amount under the same nonce; of the store
     */
    take: (payer: string, authorization: string, value: bigint, requestId: string) =>
      change(payer, (credit) => {
        const { balance } = credit
        if (wasTaken(credit, authorization, value)) return { result: true }
        if (balance < value) return { result: false }
        assert(value > 0n, 'credit that is taken is more than nothing', value)
        assert(!credit.taken.has(authorization), 'credit is taken once for an authorization')
        assert(balance - value >= 0n, 'a credit is never below zero', balance - value)
        const meta = { correlationId: requestId, actor: 'calls' }
        const data = { payer, authorization, value: value.toString(), balance: (balance - value).toString() }
        return { event: newEvent(CreditUsed, { id: newId(), data, meta }), result: true }
      }),
  }
}
