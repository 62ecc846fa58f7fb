import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { Origin } from '../../../contracts/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { AccountDeps } from '../account-deps.ts'
import type { Identity } from '../identify.ts'
import { type Session, sessionEnd } from './decide-sessions.ts'

/** A session as its owner sees it. Times are Unix milliseconds. */
export interface SessionView extends Session {
  readonly endsAt: number
}

type Deps = Pick<AccountDeps, 'log' | 'identifier' | 'now'>

export type Sessions = ReturnType<typeof createSessions>

/** Browsers that are signed in to the pages. */
export function createSessions({ log, identifier, now }: Deps) {
  const reasonFor = ({ actor }: Origin): string => `ended by ${actor}`
  return {
    /** The valid sessions, oldest first. @throws ServiceError `account_unknown` */
    async sessions(accountId: string) {
      const { isOpen, sessions } = await log.load(accountId)
      if (!isOpen) throw new ServiceError('account_unknown', { message: `There is no account ${accountId}.` })
      const views = sessions.map((session) => ({ ...session, endsAt: sessionEnd(session) }))
      return views.filter(({ endsAt }) => endsAt > now())
    },
    /**
     * When it resolves, the session does not apply any more: in this process at once, in others in a moment.
     *
     * @throws ServiceError `account_unknown`, `not_found`
     */
    async endSession(accountId: string, sessionId: string, origin: Origin) {
      const command = { kind: 'EndSession', sessionId, reason: reasonFor(origin) } as const
      await log.execute(accountId, origin, () => [command])
      await identifier.settled()
    },
    /** Ends all sessions but one. @throws ServiceError `account_unknown` */
    async endOtherSessions(accountId: string, than: string, origin: Origin) {
      const command = { kind: 'EndOtherSessions', than, reason: reasonFor(origin) } as const
      await log.execute(accountId, origin, () => [command])
      await identifier.settled()
    },
  }
}

/**
 * Records that a session is used, where that was not recorded for a day. A failure ends nobody's request: the next one
 * records it.
 */
export async function seeSession(
  { log, now, report }: Deps & { readonly report: (event: string, details: Record<string, string>) => void },
  identity: Identity,
): Promise<void> {
  if (identity.outcome !== 'OK' || identity.sessionSeenAt === undefined) return
  if (now() - identity.sessionSeenAt < LIMITS.sessionSeenMs) return
  const { accountId, keyId: sessionId } = identity
  const origin = { correlationId: sessionId, actor: `session ${sessionId}` }
  try {
    await log.execute(accountId, origin, () => [{ kind: 'SeeSession', sessionId, now: now() }])
  } catch (error) {
    report('the use of a session could not be recorded', { reason: reasonOf(error) })
  }
}
