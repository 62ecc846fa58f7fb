import { START } from '../../../contracts/position.ts'
import { type DebitPlace, debitKey, debits } from '../../../projections/index.ts'
import type { Projector } from '../../log/projector/projector.ts'
import type { DebitIndex } from './used-keys.ts'

/**
 * The index of idempotency keys over this process' read models.
 *
 * @param projector one that runs the projection `debits`
 */
export function createDebitIndex(projector: Pick<Projector, 'reader'>): DebitIndex {
  const reader = projector.reader(debits)
  const position = (): string => reader.health().position
  let hasRows = false
  return {
    position,
    find(payerId, idempotencyHash) {
      // A projector that has just begun has no rows to be asked for.
      hasRows ||= position() !== START
      return hasRows ? (reader.get(debitKey(payerId, idempotencyHash)) as DebitPlace | undefined) : undefined
    },
  }
}
