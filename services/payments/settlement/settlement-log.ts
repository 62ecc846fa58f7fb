import { assert } from '../../../contracts/assert.ts'
import { decodeEvent, EVENT_CATALOGUE, type FactOf } from '../../../contracts/event-catalogue.ts'
import { type EventDefinition, newEvent } from '../../../contracts/event-definition.ts'
import {
  appendedOr,
  appendWithRetry,
  type LogUse,
  RETRY_FOR_CALLER,
  type UnknownOutcome,
} from '../../log/append-with-retry.ts'
import { afterEvent, type LoadedPayment, loadPayment } from '../loaded-payment.ts'
import { isAwaited, isOpen, type Payment } from '../state/payment-state.ts'

type WithoutPayment<Fact> = Fact extends { readonly type: infer Type; readonly data: infer Data }
  ? { readonly type: Type; readonly data: Omit<Data, 'paymentId'> }
  : never

/** An event of a settlement, without the id of the payment, which every such event names. */
export type SettlementFact = WithoutPayment<
  | FactOf<'SettlementRequested' | 'SettlementBroadcast' | 'SettlementFailed' | 'SettlementUnknown'>
  | FactOf<'SettlementConfirmed' | 'SettlementFinalised' | 'SettlementReorged' | 'PaymentUncollectable'>
>

const UNKNOWN: UnknownOutcome = {
  what: 'a settlement was recorded',
  again: 'The settler looks at the payment again by itself.',
}

/** The states in which each fact may be recorded: money that has come is never lost by an attempt. */
const isConfirmed = ({ state }: Payment): boolean => state === 'confirmed'
const MAY_FOLLOW: Readonly<Record<SettlementFact['type'], (payment: Payment) => boolean>> = {
  SettlementRequested: isAwaited,
  SettlementBroadcast: isAwaited,
  SettlementFailed: isAwaited,
  SettlementUnknown: isAwaited,
  SettlementConfirmed: isOpen,
  SettlementFinalised: isConfirmed,
  SettlementReorged: isConfirmed,
  PaymentUncollectable: isAwaited,
}

/** The streams of payments, as settling reads and writes them. */
export type SettlementLog = ReturnType<typeof createSettlementLog>

export function createSettlementLog(options: Omit<LogUse, 'signal'>) {
  const { store, newId, now } = options
  return {
    load: (stream: string, signal: AbortSignal) => loadPayment(store, stream, signal),
    /**
     * Records facts after the state they were decided on, all or none, and durable when it resolves.
     *
     * @returns the payment after them; undefined where another process was quicker: to be read and decided anew
     * @throws ServiceError of the store; what was recorded is not known then, and the next look at the stream tells
     */
    async record(
      loaded: LoadedPayment,
      facts: readonly SettlementFact[],
      signal: AbortSignal,
    ): Promise<LoadedPayment | undefined> {
      const { paymentId } = loaded.payment
      const meta = { correlationId: loaded.correlationId, causationId: paymentId, actor: 'settler' }
      const added = facts.map(({ type, data }) =>
        newEvent(EVENT_CATALOGUE[type] as EventDefinition, {
          id: newId(),
          data: { paymentId, ...data },
          meta,
        }),
      )
      assert(added.length > 0, 'something is recorded of a settlement', paymentId)
      const at = new Date(now()).toISOString()
      const after = added.reduce<LoadedPayment>((before, event, index) => {
        const { type } = facts[index] as SettlementFact
        assert(
          MAY_FOLLOW[type](before.payment),
          'a payment moves forward',
          `${type} of ${before.payment.state}`,
        )
        const revision = before.revision + 1
        const place = { stream: loaded.stream, revision, position: 'start', at }
        return afterEvent(before, decodeEvent({ ...event, ...place }))
      }, loaded)
      assert(after.payment.value === loaded.payment.value, 'a settlement moves what was claimed', paymentId)
      assert(
        after.revision === loaded.revision + facts.length,
        'each fact takes one revision',
        after.revision,
      )
      const placed = { stream: loaded.stream, events: added, expected: loaded.revision }
      const outcome = await appendWithRetry({ ...options, policy: RETRY_FOR_CALLER, signal }, placed)
      return appendedOr(outcome, UNKNOWN) === undefined ? undefined : after
    },
  }
}
