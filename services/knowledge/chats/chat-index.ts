import { type Position, START } from '../../../contracts/position.ts'
import { type ChatPlace, chatKey, chats } from '../../../projections/index.ts'
import type { Projector } from '../../log/projector/projector.ts'

export type ChatIndex = ReturnType<typeof createChatIndex>

/**
 * Finds a recorded chat by its payer and idempotency key, in the read models of this process.
 *
 * @param projector one that runs the projection `chats`
 */
export function createChatIndex(projector: Pick<Projector, 'reader'>) {
  const reader = projector.reader(chats)
  /** Up to where it holds the log. */
  const position = (): Position => reader.health().position
  let hasRows = false
  return {
    position,
    find(payerId: string, idempotencyHash: string): ChatPlace | undefined {
      // A projector that has just begun has no rows to be asked for.
      hasRows ||= position() !== START
      return hasRows ? reader.get(chatKey(payerId, idempotencyHash)) : undefined
    },
  }
}
