import { ServiceError } from '../../contracts/errors/errors.ts'
import { eventAt, type Position, START } from '../../contracts/infra/position.ts'

/** The position of the nth event of a log that counts its events. */
export const toPosition = (sequence: number): Position => (sequence === 0 ? START : String(sequence))

/** Inverse of {@link toPosition}. @throws ServiceError `invalid_request` for a position of another kind of store. */
export function toSequence(position: Position): number {
  if (position === START) return 0
  const event = eventAt(position)
  const sequence = Number(event)
  // Just in front of an event is behind the one before it.
  if (Number.isSafeInteger(sequence)) return event === position ? sequence : sequence - 1
  throw new ServiceError('invalid_request', {
    message: `position ${JSON.stringify(position)} is not one of this store, whose positions are whole numbers`,
  })
}
