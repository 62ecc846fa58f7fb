import { ServiceError } from '../../../contracts/errors.ts'
import { comparePositions, type Position } from '../../../contracts/position.ts'
import type { Payment } from '../../../projections/index.ts'
import type { PaymentIndex } from '../payment-index.ts'
import type { Exposure } from './decide-claim.ts'

/** A claim that is being made. */
export interface Reservation {
  /** It is in the log, at this position. */
  landed(payment: Payment, position: Position): void
  /** It is not in the log, or not by us. */
  release(): void
}

/**
 * What payers owe: the read model, and what it has not come to yet of this process' claims. Claims that other
 * processes are making at the same moment are not seen, so the caps may be overshot by as much.
 */
export interface ExposureLedger {
  /** @throws ServiceError `payments_unavailable` while the read model does not follow the log */
  of(payer: string): Exposure & { readonly isBlocked: boolean }
  /** Counts a claim from now on, before it is in the log: others decide in the meantime. */
  reserve(payer: string, value: bigint): Reservation
  /** A claim of this process that the read model may not have yet. */
  recent(paymentId: string): Payment | undefined
}

interface Pending {
  readonly payer: string
  readonly value: bigint
  payment?: Payment
  position?: Position
}

const RETRY_AFTER_S = 1

export function createExposureLedger(index: PaymentIndex | undefined): ExposureLedger {
  const pending = new Set<Pending>()

  /** Of all payers; read once for all that decide in the same turn of the event loop, since it costs the most. */
  let unsettled: bigint | undefined

  /**
   * Reads how far the read model has come, and forgets the claims that it counts by then. Should it come further
   * before the turn is over, claims of one payer count twice for a moment: too careful, and never too trusting.
   */
  function look(model: PaymentIndex): bigint {
    if (unsettled !== undefined) return unsettled
    const position = model.position()
    if (position === undefined) throw isUnknown()
    for (const claim of pending) {
      const isFolded = claim.position !== undefined && comparePositions(position, claim.position) >= 0
      if (isFolded) pending.delete(claim)
    }
    unsettled = BigInt(model.total()?.unsettled ?? '0')
    setImmediate(() => {
      unsettled = undefined
    })
    return unsettled
  }

  return {
    of(payer) {
      if (index === undefined) throw isUnknown()
      let total = look(index)
      const totals = index.payer(payer)
      let own = BigInt(totals?.unsettled ?? '0')
      for (const claim of pending) {
        total += claim.value
        if (claim.payer === payer) own += claim.value
      }
      const debt = BigInt(totals?.debt ?? '0')
      return { payer: own, debt, total, isBlocked: totals?.isBlocked === true }
    },
    reserve(payer, value) {
      const claim: Pending = { payer, value }
      pending.add(claim)
      return {
        landed(payment, position) {
          claim.payment = payment
          claim.position = position
        },
        release: () => void pending.delete(claim),
      }
    },
    recent(paymentId) {
      for (const { payment } of pending) if (payment?.paymentId === paymentId) return payment
      return undefined
    },
  }
}

const isUnknown = (): ServiceError =>
  new ServiceError('payments_unavailable', {
    message: 'What payers owe is not known at the moment: the read model does not follow the log.',
    details: { retry_after_s: RETRY_AFTER_S },
  })
