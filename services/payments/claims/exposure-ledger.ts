import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { Rail } from '../../../contracts/events/payment-events.ts'
import { comparePositions, type Position } from '../../../contracts/infra/position.ts'
import type { Payment } from '../payment.ts'
import type { PaymentIndex } from '../payment-index.ts'
import type { Exposure } from './decide-claim.ts'

/** A pending claim, which adds to the amounts at stake. */
export interface Reserved {
  readonly payer: string
  readonly rail: Rail
  readonly value: bigint
  readonly isServedFirst: boolean
}

export type ExposureLedger = ReturnType<typeof createExposureLedger>

interface Pending extends Reserved {
  payment?: Payment
  position?: Position
}

const RETRY_AFTER_S = 1

/**
 * The debts of payers: the read model, and this process' claims that it has not folded yet. Simultaneous claims of
 * other processes are not counted, so the caps may be exceeded by their sum.
 */
export function createExposureLedger(index: PaymentIndex | undefined) {
  const pending = new Set<Pending>()
  /** Sums over all that are pending, which a look would add up anew. */
  const ofAll = { served: 0n, direct: 0, gateway: 0 }
  /** Up to where folded claims were forgotten, unless one landed since. */
  let forgottenUpTo: Position | undefined

  function count({ isServedFirst, value, rail }: Reserved, by: 1 | -1): void {
    if (isServedFirst) ofAll.served += BigInt(by) * value
    else ofAll[rail] += by
  }

  function forget(claim: Pending): void {
    if (pending.delete(claim)) count(claim, -1)
  }

  /** Forgets the claims that the read model counts by now. */
  function forgetFolded(position: Position | undefined): void {
    if (position === undefined) throw exposureUnknownError()
    if (position === forgottenUpTo) return
    for (const claim of pending) {
      const isFolded = claim.position !== undefined && comparePositions(position, claim.position) >= 0
      if (isFolded) forget(claim)
    }
    forgottenUpTo = position
  }

  return {
    /** @throws ServiceError `payments_unavailable` while the read model does not follow the log */
    of(payer: string, rail: Rail): Exposure {
      if (index === undefined) throw exposureUnknownError()
      forgetFolded(index.position())
      const all = index.total()
      const own = index.payer(payer)
      const name = rail === 'gateway' ? 'waitingGateway' : 'waiting'
      const found = {
        payer: BigInt(own?.unsettled ?? '0'),
        awaited: BigInt(own?.awaited ?? '0'),
        debt: BigInt(own?.debt ?? '0'),
        total: BigInt(all?.unsettled ?? '0') + ofAll.served,
        waiting: own?.[name] ?? 0,
        waitingOfAll: (all?.[name] ?? 0) + ofAll[rail],
      }
      for (const claim of pending) {
        if (claim.payer !== payer) continue
        if (claim.isServedFirst) found.payer += claim.value
        if (claim.rail === 'direct') found.awaited += claim.value
        if (!claim.isServedFirst && claim.rail === rail) found.waiting += 1
      }
      return found
    },
    /** Counts a claim from now on, before it is in the log: others decide in the meantime. */
    reserve(reserved: Reserved) {
      assert(reserved.value > 0n, 'a claim that is pending is over more than nothing', reserved.value)
      const claim: Pending = { ...reserved }
      pending.add(claim)
      count(claim, 1)
      return {
        /** It is in the log, at this position. */
        landed(payment: Payment, position: Position): void {
          assert(claim.payment === undefined, 'a pending claim lands once', payment.paymentId)
          claim.payment = payment
          claim.position = position
          forgottenUpTo = undefined
        },
        /** It is not in the log, or not by us. */
        release: () => forget(claim),
      }
    },
    /** A claim of this process that the read model may not have yet. */
    recent(paymentId: string): Payment | undefined {
      for (const { payment } of pending) if (payment?.paymentId === paymentId) return payment
      return undefined
    },
  }
}

const exposureUnknownError = (): ServiceError =>
  new ServiceError('payments_unavailable', {
    message: 'What payers owe is not known at the moment: the read model does not follow the log.',
    details: { retry_after_s: RETRY_AFTER_S },
    isForCallers: true,
  })
