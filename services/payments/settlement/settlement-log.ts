import type { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Revision } from '../../../contracts/event.ts'
import { decodeEvent, EVENT_CATALOGUE } from '../../../contracts/event-catalogue.ts'
import { type EventDefinition, newEvent } from '../../../contracts/event-definition.ts'
import type {
  PaymentClaimed,
  PaymentUncollectable,
  SettlementBroadcast,
  SettlementConfirmed,
  SettlementFailed,
  SettlementFinalised,
  SettlementReorged,
  SettlementRequested,
  SettlementUnknown,
} from '../../../contracts/payment-events.ts'
import type { RefundAuthorised } from '../../../contracts/refund-events.ts'
import { evolvePayment, type Payment } from '../../../projections/index.ts'
import type { Clock } from '../../platform/async/clock.ts'
import {
  appendedOr,
  appendUntilKnown,
  LOOKS_AGAIN,
  type UnknownOutcome,
} from '../../platform/event-store/append-until-known.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import type { SignedAuthorization } from '../chain/chain.ts'

export type ClaimData = z.output<typeof PaymentClaimed.data>

/** A payment as its stream tells it, and what is needed to settle it. */
export interface LoadedPayment {
  readonly stream: string
  readonly payment: Payment
  readonly claim: ClaimData
  readonly authorization: SignedAuthorization
  /** Of its newest event: the place that the next one is appended behind. */
  readonly revision: Revision
  readonly correlationId: string
  /** Transactions that were signed for it, so that our own are known again. */
  readonly broadcasts: readonly string[]
  /** Why attempts came to nothing, the newest of them; also after the next one was begun. */
  readonly lastReason: string | null
  /** Whether a facilitator was ever asked to settle it. */
  readonly wasForwarded: boolean
  /** Whether it was ever not known what became of an attempt. */
  readonly wasInDoubt: boolean
  /** Transactions that are in a block and moved nothing for it. */
  readonly minedFailures: number
  /** Reasons that are recorded of it. */
  readonly reasons: number
}

/** Recorded of an attempt whose transaction is in a block, and brought nothing. */
export const MOVED_NOTHING = 'the transaction is in a block and has moved nothing'

type Body<Definition> =
  Definition extends EventDefinition<string, infer Data> ? Omit<Data, 'paymentId'> : never

/** What is recorded of a payment, without what every such event says. */
export type SettlementFact =
  | { readonly type: 'SettlementRequested'; readonly data: Body<typeof SettlementRequested> }
  | { readonly type: 'SettlementBroadcast'; readonly data: Body<typeof SettlementBroadcast> }
  | { readonly type: 'SettlementFailed'; readonly data: Body<typeof SettlementFailed> }
  | { readonly type: 'SettlementUnknown'; readonly data: Body<typeof SettlementUnknown> }
  | { readonly type: 'SettlementConfirmed'; readonly data: Body<typeof SettlementConfirmed> }
  | { readonly type: 'SettlementFinalised'; readonly data: Body<typeof SettlementFinalised> }
  | { readonly type: 'SettlementReorged'; readonly data: Body<typeof SettlementReorged> }
  | { readonly type: 'PaymentUncollectable'; readonly data: Body<typeof PaymentUncollectable> }

export interface SettlementLogOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly store: EventStore
  readonly newId: () => string
}

/** The streams of payments, as settling reads and writes them. */
export interface SettlementLog {
  /** The newest state; undefined where the stream holds no claim. */
  load(stream: string, signal: AbortSignal): Promise<LoadedPayment | undefined>
  /**
   * Records facts behind the state they were decided on, all or none, and durable when it resolves.
   *
   * @returns the payment after them; undefined where another process was quicker: to be read and decided anew
   * @throws ServiceError of the store; what was recorded is not known then, and the next look at the stream tells
   */
  record(
    loaded: LoadedPayment,
    facts: readonly SettlementFact[],
    signal: AbortSignal,
  ): Promise<LoadedPayment | undefined>
}

const UNKNOWN: UnknownOutcome = {
  what: 'a settlement was recorded',
  again: 'The settler looks at the payment again by itself.',
}

export function createSettlementLog(options: SettlementLogOptions): SettlementLog {
  const { store, newId, now } = options
  return {
    async load(stream, signal) {
      let loaded: LoadedPayment | undefined
      for await (const recorded of store.read(stream, { signal })) {
        loaded = after(loaded, decodeEvent(recorded), recorded.revision)
      }
      return signal.aborted ? undefined : loaded
    },
    async record(loaded, facts, signal) {
      const { paymentId } = loaded.payment
      const meta = { correlationId: loaded.correlationId, causationId: paymentId, actor: 'settler' }
      const added = facts.map(({ type, data }) =>
        newEvent(EVENT_CATALOGUE[type] as EventDefinition, {
          id: newId(),
          data: { paymentId, ...data },
          meta,
        }),
      )
      const placed = { stream: loaded.stream, events: added, expected: loaded.revision }
      const outcome = await appendUntilKnown({ ...options, policy: LOOKS_AGAIN, signal }, placed)
      if (appendedOr(outcome, UNKNOWN) === undefined) return undefined
      const at = new Date(now()).toISOString()
      return added.reduce<LoadedPayment>((before, event) => {
        const revision = before.revision + 1
        const place = { stream: loaded.stream, revision, position: 'start', at }
        return after(before, decodeEvent({ ...event, ...place }), revision)
      }, loaded)
    },
  }
}

const NOTHING_YET = {
  broadcasts: [],
  lastReason: null,
  wasForwarded: false,
  wasInDoubt: false,
  minedFailures: 0,
  reasons: 0,
} as const

/** The transfer of a refund in the form of a claim: the refund wallet pays the payer. */
const claimOfRefund = (refund: z.output<typeof RefundAuthorised.data>): ClaimData => ({
  paymentId: refund.paymentId,
  rail: 'direct',
  protocol: 2,
  chainId: refund.chainId,
  contract: refund.contract,
  asset: refund.contract,
  payer: refund.from,
  payTo: refund.to,
  value: refund.value,
  validAfter: '0',
  validBefore: refund.validBefore,
  nonce: refund.nonce,
  signature: refund.signature,
  product: 'refund',
  requestHash: '0'.repeat(64),
  answer: '',
  accountId: null,
  isServedFirst: false,
})

function after(
  before: LoadedPayment | undefined,
  event: ReturnType<typeof decodeEvent>,
  revision: Revision,
): LoadedPayment {
  const payment = evolvePayment(before?.payment, event) ?? before?.payment
  if (event.type === 'PaymentClaimed' && payment !== undefined) {
    const { data: claim, stream, meta } = event
    const authorization = authorizationOf(claim)
    return {
      ...NOTHING_YET,
      stream,
      payment,
      claim,
      authorization,
      revision,
      correlationId: meta.correlationId,
    }
  }
  if (event.type === 'RefundAuthorised' && payment !== undefined) {
    const claim = claimOfRefund(event.data)
    const { stream, meta } = event
    const authorization = authorizationOf(claim)
    return {
      ...NOTHING_YET,
      stream,
      payment,
      claim,
      authorization,
      revision,
      correlationId: meta.correlationId,
    }
  }
  if (before === undefined || payment === undefined) {
    throw new ServiceError('event_unreadable', {
      message: `The stream ${event.stream} begins with ${event.type} at revision ${revision}, not with a claim.`,
    })
  }
  const next = { ...before, payment, revision }
  switch (event.type) {
    case 'SettlementBroadcast':
      return { ...next, broadcasts: [...before.broadcasts, event.data.transaction] }
    case 'SettlementFailed': {
      const { reason } = event.data
      const minedFailures = before.minedFailures + Number(reason === MOVED_NOTHING)
      return { ...next, lastReason: reason, minedFailures, reasons: before.reasons + 1 }
    }
    case 'SettlementUnknown':
      return { ...next, lastReason: event.data.reason, wasInDoubt: true, reasons: before.reasons + 1 }
    case 'SettlementRequested':
      return { ...next, wasForwarded: before.wasForwarded || event.data.settler !== 'own' }
    default:
      return next
  }
}

const authorizationOf = (claim: ClaimData): SignedAuthorization => ({
  payer: claim.payer as `0x${string}`,
  payTo: claim.payTo as `0x${string}`,
  nonce: claim.nonce as `0x${string}`,
  signature: claim.signature as `0x${string}`,
  value: BigInt(claim.value),
  validAfter: BigInt(claim.validAfter),
  validBefore: BigInt(claim.validBefore),
})
