import type { Scope } from '../../../contracts/domain/oauth.ts'
import type { FactOf } from '../../../contracts/events/event-catalogue.ts'
import * as oauthEvents from '../../../contracts/events/oauth-events.ts'

/** The events of an account's programs. */
export type AppFact = FactOf<keyof typeof oauthEvents>

/** A program that its owner let in. Times are Unix milliseconds. */
export interface Grant {
  readonly grantId: string
  /** Client id, name and redirect host, sealed. */
  readonly app: string
  readonly clientHash: string
  readonly redirectHash: string
  readonly codeHash: string
  readonly challenge: string
  readonly scopes: readonly Scope[]
  readonly grantedAt: number
  /** SHA-256 of the valid refresh token; null until the code is exchanged. */
  readonly refreshHash: string | null
  /** Expiry of the code, and then of the refresh token. */
  readonly expiresAt: number
}

export const liveGrants = (grants: readonly Grant[], now: number): Grant[] =>
  grants.filter(({ expiresAt }) => expiresAt > now)

export const isAppFact = (fact: { readonly type: string }): fact is AppFact =>
  Object.hasOwn(oauthEvents, fact.type)

/**
 * The programs that may act for an account, oldest first; some may have expired.
 *
 * @param at when the fact was recorded, Unix milliseconds
 */
export function evolveApps(grants: readonly Grant[], { type, data }: AppFact, at: number): readonly Grant[] {
  switch (type) {
    case 'AppAuthorized': {
      const { accountId: _, codeExpiresAt: expiresAt, ...said } = data
      const grant = { ...said, grantedAt: at, refreshHash: null, expiresAt }
      // Those that were let in stay until the log says that they ended; codes that nobody exchanged were nobody.
      const kept = grants.filter((one) => one.refreshHash !== null || one.expiresAt > at)
      return [...kept, grant]
    }
    case 'AppTokenIssued': {
      const { grantId, refreshHash, expiresAt } = data
      return grants.map((grant) => (grant.grantId === grantId ? { ...grant, refreshHash, expiresAt } : grant))
    }
    default:
      return grants.filter(({ grantId }) => grantId !== data.grantId)
  }
}
