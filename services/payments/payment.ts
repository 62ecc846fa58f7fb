import type { z } from 'zod'
import type { PaymentState } from '../../contracts/answers/service-block.ts'
import { assert } from '../../contracts/errors/assert.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import {
  decodeEvent,
  EVENT_CATALOGUE,
  type FactOf,
  type ServiceEvent,
} from '../../contracts/events/event-catalogue.ts'
import { type EventDefinition, newEvent } from '../../contracts/events/event-definition.ts'
import type { PaymentClaimed, RefundSent } from '../../contracts/events/payment-events.ts'
import type { NewEvent, Revision } from '../../contracts/infra/event.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import {
  appendedOr,
  appendWithRetry,
  type LogUse,
  RETRY_FOR_CALLER,
  type UnknownOutcome,
} from '../log/append-with-retry.ts'
import type { EventStore } from '../log/event-store.ts'
import type { SignedAuthorization } from './chain/chain.ts'

/** A payment as the read model keeps it: without signature and answer. */
export interface Payment extends JsonObject {
  readonly paymentId: string
  readonly stream: string
  readonly state: PaymentState
  readonly rail: 'direct' | 'gateway'
  readonly product: string
  readonly payer: string
  /** Millionths of a USDC. */
  readonly value: string
  readonly accountId: string | null
  readonly isServedFirst: boolean
  /** Unix seconds. */
  readonly validBeforeS: number
  /** Unix milliseconds. */
  readonly claimedAtMs: number
  /** When the newest event was recorded, Unix milliseconds. */
  readonly changedAtMs: number
  /** How often a facilitator was asked to settle it. */
  readonly attempts: number
  /** The transaction that the facilitator named, or that settled it. */
  readonly transaction: string | null
  readonly blockNumber: number | null
  readonly blockHash: string | null
  /** Why the newest attempt came to nothing, or why the payment never becomes money. */
  readonly reason: string | null
  /** Sent back so far, millionths of a USDC. */
  readonly refunded: string
}

/** A payment with all that its stream tells. */
export interface LoadedPayment {
  readonly stream: string
  readonly payment: Payment
  readonly claim: z.output<typeof PaymentClaimed.data>
  readonly authorization: SignedAuthorization
  readonly refunds: readonly Pick<z.output<typeof RefundSent.data>, 'transaction' | 'value'>[]
  /** Revision of its newest event; the next one is appended after it. */
  readonly revision: Revision
  readonly correlationId: string
  /** Why attempts came to nothing, the newest of them; also after the next one was begun. */
  readonly lastReason: string | null
  /** Whether others than the payer can read its signature: a transaction that holds it is known. */
  readonly isSignatureOnChain: boolean
  /** Whether the outcome of an attempt was ever unknown. */
  readonly wasInDoubt: boolean
  /** Reasons that are recorded of it. */
  readonly reasons: number
}

/** A payment of which nothing has become yet. */
export const JUST_CLAIMED = {
  state: 'owed',
  attempts: 0,
  transaction: null,
  blockNumber: null,
  blockHash: null,
  reason: null,
  refunded: '0',
} as const

/** States in which the settler has something left to do. */
export const isOpen = ({ state }: Payment): boolean =>
  state !== 'final' && state !== 'uncollectable' && state !== 'refunded'

/** Claimed, and the money neither there nor known to be lost. */
export const isAwaited = ({ state }: Payment): boolean =>
  state === 'owed' || state === 'settling' || state === 'broadcast' || state === 'unknown'

/** Delivered, and the money not there. */
export const isUnsettled = (payment: Payment): boolean => payment.isServedFirst && isAwaited(payment)

/** Not delivered before its money is there, and that has not come. */
export const isWaiting = (payment: Payment): boolean => !payment.isServedFirst && isAwaited(payment)

/** How the reason of an attempt begins if the payer or the facilitator is in the way, and not this service. */
const REFUSALS = /^(?:insufficient_funds|refused: )/

/** Its money has not come, and nothing is known that is in its way. */
export const isPayable = (payment: Payment): boolean =>
  isAwaited(payment) && !(payment.state === 'owed' && REFUSALS.test(payment.reason ?? ''))

/** Delivered, and the money never comes. */
export const isDebt = ({ state, isServedFirst }: Payment): boolean =>
  isServedFirst && state === 'uncollectable'

/** Whether the answer of a payment may leave. */
export const isServable = ({ state, isServedFirst }: Payment): boolean =>
  isServedFirst || state === 'confirmed' || state === 'final' || state === 'refunded'

/** The payment after an event of its stream; undefined before its claim, and for events of other streams. */
export function evolvePayment(payment: Payment | undefined, event: ServiceEvent): Payment | undefined {
  const changedAtMs = Date.parse(event.at)
  if (event.type === 'PaymentClaimed') {
    const { paymentId, rail, product, payer, value, accountId, isServedFirst, validBefore } = event.data
    return {
      ...JUST_CLAIMED,
      paymentId,
      rail,
      product,
      payer,
      value,
      accountId,
      isServedFirst,
      validBeforeS: validBefore,
      stream: event.stream,
      claimedAtMs: changedAtMs,
      changedAtMs,
    }
  }
  if (payment === undefined) return undefined
  const change = changeBy(event, payment)
  return change && { ...payment, ...change, changedAtMs }
}

function changeBy(event: ServiceEvent, payment: Payment): Partial<Payment> | undefined {
  switch (event.type) {
    case 'SettlementRequested':
      return { state: 'settling', attempts: event.data.attempt, transaction: null, reason: null }
    case 'SettlementBroadcast':
      return { state: 'broadcast', transaction: event.data.transaction }
    case 'SettlementFailed':
      return { state: 'owed', transaction: null, reason: event.data.reason }
    case 'SettlementUnknown':
      return { state: 'unknown', reason: event.data.reason }
    case 'SettlementConfirmed': {
      const { transaction, blockNumber, blockHash } = event.data
      return { state: 'confirmed', transaction, blockNumber, blockHash, reason: null }
    }
    case 'SettlementFinalised':
      return { state: 'final', transaction: event.data.transaction }
    case 'SettlementReorged':
      return { state: 'owed', transaction: null, blockNumber: null, blockHash: null, reason: 'reorged' }
    case 'PaymentUncollectable':
      return { state: 'uncollectable', reason: event.data.reason }
    case 'RefundSent': {
      const refunded = BigInt(payment.refunded) + BigInt(event.data.value)
      const isAll = refunded >= BigInt(payment.value)
      return { refunded: refunded.toString(), ...(isAll && { state: 'refunded' as const }) }
    }
    default:
      return undefined
  }
}

/** A payment after an event of its stream. @throws ServiceError `event_unreadable` for a stream without a claim */
export function afterEvent(before: LoadedPayment | undefined, event: ServiceEvent): LoadedPayment {
  const { revision, stream } = event
  const payment = evolvePayment(before?.payment, event) ?? before?.payment
  if (payment !== undefined && event.type === 'PaymentClaimed') {
    return {
      stream,
      payment,
      claim: event.data,
      authorization: authorizationOf(event.data),
      refunds: [],
      revision,
      correlationId: event.meta.correlationId,
      lastReason: null,
      isSignatureOnChain: false,
      wasInDoubt: false,
      reasons: 0,
    }
  }
  if (before === undefined || payment === undefined) {
    throw new ServiceError('event_unreadable', {
      message: `The stream ${stream} begins with ${event.type} at revision ${revision}, not with a claim.`,
    })
  }
  const next = { ...before, payment, revision }
  switch (event.type) {
    case 'SettlementRequested':
      // An attempt whose answer was never recorded: the process ended before it could do so.
      return { ...next, wasInDoubt: before.wasInDoubt || before.payment.state === 'settling' }
    case 'SettlementFailed':
      return { ...next, lastReason: event.data.reason, reasons: before.reasons + 1 }
    case 'SettlementUnknown':
      return { ...next, lastReason: event.data.reason, wasInDoubt: true, reasons: before.reasons + 1 }
    case 'SettlementBroadcast':
    case 'SettlementConfirmed':
      return { ...next, isSignatureOnChain: true }
    case 'PaymentUncollectable':
      return { ...next, isSignatureOnChain: before.isSignatureOnChain || event.data.reason === 'cancelled' }
    case 'RefundSent':
      return { ...next, refunds: [...before.refunds, event.data] }
    default:
      return next
  }
}

const authorizationOf = (claim: LoadedPayment['claim']): SignedAuthorization => ({
  payer: claim.payer as `0x${string}`,
  payTo: claim.payTo as `0x${string}`,
  nonce: claim.nonce as `0x${string}`,
  signature: claim.signature as `0x${string}`,
  value: BigInt(claim.value),
  validAfter: BigInt(claim.validAfter),
  validBefore: BigInt(claim.validBefore),
})

/** The newest state of a payment, other processes' events included; undefined if its stream holds no claim. */
export async function loadPayment(
  store: Pick<EventStore, 'read'>,
  stream: string,
): Promise<LoadedPayment | undefined> {
  let loaded: LoadedPayment | undefined
  for await (const recorded of store.read(stream)) loaded = afterEvent(loaded, decodeEvent(recorded))
  return loaded
}

type WithoutPayment<Fact> = Fact extends { readonly type: infer Type; readonly data: infer Data }
  ? { readonly type: Type; readonly data: Omit<Data, 'paymentId'> }
  : never

/** An event of a settlement, without the id of the payment, which every such event names. */
export type SettlementEvent = WithoutPayment<
  | FactOf<'SettlementRequested' | 'SettlementBroadcast' | 'SettlementFailed' | 'SettlementUnknown'>
  | FactOf<'SettlementConfirmed' | 'SettlementFinalised' | 'SettlementReorged' | 'PaymentUncollectable'>
>

/** The states in which each event may be recorded: money that has come is never lost by an attempt. */
const isConfirmed = ({ state }: Payment): boolean => state === 'confirmed'
const MAY_FOLLOW: Readonly<Record<SettlementEvent['type'], (payment: Payment) => boolean>> = {
  SettlementRequested: isAwaited,
  SettlementBroadcast: isAwaited,
  SettlementFailed: isAwaited,
  SettlementUnknown: isAwaited,
  SettlementConfirmed: isOpen,
  SettlementFinalised: isConfirmed,
  SettlementReorged: isConfirmed,
  PaymentUncollectable: isAwaited,
}

const CLAIM_UNKNOWN: UnknownOutcome = {
  what: 'this payment was taken',
  again: 'Send the same request with the same payment again: it is charged once.',
}
const SETTLEMENT_UNKNOWN: UnknownOutcome = {
  what: 'a settlement was recorded',
  again: 'The settler reads the payment again by itself.',
}

/** The streams of payments. Appends are durable when they resolve; an unknown outcome is repeated as it was. */
export type PaymentLog = ReturnType<typeof createPaymentLog>

export function createPaymentLog(options: LogUse) {
  const { store, newId, now } = options
  const path = { ...options, policy: RETRY_FOR_CALLER }

  /** The payment after events that are about to be appended. */
  function evolved(loaded: LoadedPayment, events: readonly NewEvent[]): LoadedPayment {
    const at = new Date(now()).toISOString()
    return events.reduce<LoadedPayment>((before, event) => {
      const mayFollow = MAY_FOLLOW[event.type as SettlementEvent['type']]
      assert(mayFollow(before.payment), 'a payment moves forward', `${event.type} of ${before.payment.state}`)
      const revision = before.revision + 1
      return afterEvent(
        before,
        decodeEvent({ ...event, stream: loaded.stream, revision, position: 'start', at }),
      )
    }, loaded)
  }

  return {
    load: (stream: string): Promise<LoadedPayment | undefined> => loadPayment(store, stream),
    /**
     * @returns the payment; undefined if another claim of the same authorization was quicker
     * @throws ServiceError `outcome_unknown`; of the store
     */
    async claim(stream: string, event: NewEvent) {
      const outcome = await appendWithRetry(path, { stream, events: [event], expected: 'no-stream' })
      const appended = appendedOr(outcome, CLAIM_UNKNOWN)
      if (appended === undefined) return undefined
      const { position } = appended
      const at = new Date(now()).toISOString()
      const recorded = decodeEvent({ ...event, stream, revision: 0, position, at })
      return { ...afterEvent(undefined, recorded), position }
    },
    /**
     * Records events after the state that they were decided on, all or none.
     *
     * @returns the payment after them; undefined if another process was quicker: to be read and decided anew
     * @throws ServiceError of the store; the outcome is unknown then, and the next read of the stream tells
     */
    async append(
      loaded: LoadedPayment,
      events: readonly SettlementEvent[],
      actor: 'settler' | 'calls',
    ): Promise<LoadedPayment | undefined> {
      const { stream, revision } = loaded
      const { paymentId } = loaded.payment
      const meta = { correlationId: loaded.correlationId, causationId: paymentId, actor }
      const added = events.map(({ type, data }) =>
        newEvent(EVENT_CATALOGUE[type] as EventDefinition, {
          id: newId(),
          data: { paymentId, ...data },
          meta,
        }),
      )
      assert(added.length > 0, 'something is recorded of a payment', paymentId)
      const after = evolved(loaded, added)
      assert(after.payment.value === loaded.payment.value, 'a settlement moves what was claimed', paymentId)
      const outcome = await appendWithRetry(path, { stream, events: added, expected: revision })
      return appendedOr(outcome, SETTLEMENT_UNKNOWN) === undefined ? undefined : after
    },
  }
}
