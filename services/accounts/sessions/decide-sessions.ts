import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { FactOf } from '../../../contracts/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'

export type SessionFact = FactOf<'SessionBegun' | 'SessionSeen' | 'SessionEnded'>

/** A browser that signed in to the pages. Times are Unix milliseconds. */
export interface Session {
  readonly sessionId: string
  readonly begunAt: number
  /** The last recorded use. */
  readonly seenAt: number
}

/** A session that is to begin. */
export interface NewSession {
  readonly sessionId: string
  readonly secretHash: string
}

export type SessionCommand =
  | { readonly kind: 'SeeSession'; readonly sessionId: string; readonly now: number }
  | { readonly kind: 'EndSession'; readonly sessionId: string; readonly reason: string }
  | { readonly kind: 'EndOtherSessions'; readonly than: string; readonly reason: string }

/** When a session ends by itself, Unix milliseconds. */
export const sessionEnd = ({ begunAt, seenAt }: Pick<Session, 'begunAt' | 'seenAt'>): number =>
  Math.min(begunAt + LIMITS.sessionMs, seenAt + LIMITS.sessionIdleMs)

/** A session begins. Those that have expired are recorded as ended, and where there is no room, so is the oldest. */
export function beginSession(
  accountId: string,
  session: NewSession,
  sessions: readonly Session[],
  now: number,
): SessionFact[] {
  const live = sessions.filter((one) => sessionEnd(one) > now)
  const tooMany = live.slice(0, Math.max(0, live.length + 1 - LIMITS.sessionsPerAccount))
  assert(live.length - tooMany.length < LIMITS.sessionsPerAccount, 'a new session finds room')
  return [
    ...sessions.filter((one) => !live.includes(one)).map((one) => ended(accountId, one, 'it expired')),
    ...tooMany.map((one) => ended(accountId, one, 'it gave way to a newer one')),
    { type: 'SessionBegun', data: { accountId, ...session } },
  ]
}

/** Decides a command for the sessions of an open account. @throws ServiceError `not_found` */
export function decideSessions(
  accountId: string,
  command: SessionCommand,
  sessions: readonly Session[],
): SessionFact[] {
  switch (command.kind) {
    case 'SeeSession': {
      const { sessionId, now } = command
      const isDue = sessions.some(
        (one) =>
          one.sessionId === sessionId && now - one.seenAt >= LIMITS.sessionSeenMs && sessionEnd(one) > now,
      )
      return isDue ? [{ type: 'SessionSeen', data: { accountId, sessionId } }] : []
    }
    case 'EndSession': {
      const { sessionId, reason } = command
      const session = sessions.find((one) => one.sessionId === sessionId)
      if (session !== undefined) return [ended(accountId, session, reason)]
      throw new ServiceError('not_found', { message: `The account has no session ${sessionId}.` })
    }
    default:
      return sessions
        .filter(({ sessionId }) => sessionId !== command.than)
        .map((one) => ended(accountId, one, command.reason))
  }
}

const ended = (accountId: string, { sessionId }: Session, reason: string): SessionFact => ({
  type: 'SessionEnded',
  data: { accountId, sessionId, reason },
})
