import { decodeEvent, EVENT_CATALOGUE, type FactOf } from '../../../contracts/event-catalogue.ts'
import { type EventDefinition, newEvent } from '../../../contracts/event-definition.ts'
import {
  appendedOr,
  appendUntilKnown,
  LOOKS_AGAIN,
  type UnknownOutcome,
} from '../../log/append-until-known.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { afterEvent, type LoadedPayment, loadPayment } from '../loaded-payment.ts'

type WithoutPayment<Fact> = Fact extends { readonly type: infer Type; readonly data: infer Data }
  ? { readonly type: Type; readonly data: Omit<Data, 'paymentId'> }
  : never

/** An event of a settlement, without the id of the payment, which every such event names. */
export type SettlementFact = WithoutPayment<
  | FactOf<'SettlementRequested' | 'SettlementBroadcast' | 'SettlementFailed' | 'SettlementUnknown'>
  | FactOf<'SettlementConfirmed' | 'SettlementFinalised' | 'SettlementReorged' | 'PaymentUncollectable'>
>

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
    load: (stream, signal) => loadPayment(store, stream, signal),
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
        return afterEvent(before, decodeEvent({ ...event, ...place }))
      }, loaded)
    },
  }
}
