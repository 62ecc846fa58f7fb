import type { FactOf } from '../../../contracts/event-catalogue.ts'
import type { ClientMethod, Scope } from '../../../contracts/oauth.ts'
import * as oauthEvents from '../../../contracts/oauth-events.ts'

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
  readonly method: ClientMethod
  readonly scopes: readonly Scope[]
  readonly grantedAt: number
  /** SHA-256 of the valid refresh token; null until the code is exchanged. */
  readonly refreshHash: string | null
  /** Expiry of the code, and then of the refresh token. */
  readonly expiresAt: number
}

/** A client for a machine. */
export interface Machine {
  readonly machineId: string
  readonly label: { readonly sealed: string } | { readonly text: '' }
  readonly secretHash: string | null
  readonly jwks: string | null
  readonly scopes: readonly Scope[]
  readonly createdAt: number
  /** Tokens that it was given and that may not have expired, with the proofs that they took. */
  readonly issued: readonly { readonly proofHash: string | null; readonly expiresAt: number }[]
}

/** The programs that may act for an account. */
export interface Apps {
  /** Oldest first; some may have expired. */
  readonly grants: readonly Grant[]
  readonly machines: readonly Machine[]
}

export const liveGrants = (grants: readonly Grant[], now: number): Grant[] =>
  grants.filter(({ expiresAt }) => expiresAt > now)

export const isAppFact = (fact: { readonly type: string }): fact is AppFact =>
  Object.hasOwn(oauthEvents, fact.type)

/** @param at when the fact was recorded, Unix milliseconds */
export function evolveApps(apps: Apps, { type, data }: AppFact, at: number): Apps {
  const { grants, machines } = apps
  switch (type) {
    case 'AppAuthorized': {
      const { accountId: _, codeExpiresAt: expiresAt, ...said } = data
      const grant = { ...said, grantedAt: at, refreshHash: null, expiresAt }
      // Those that were let in stay until the log says that they ended; codes that nobody exchanged were nobody.
      const kept = grants.filter((one) => one.refreshHash !== null || one.expiresAt > at)
      return { machines, grants: [...kept, grant] }
    }
    case 'AppTokenIssued': {
      const { grantId, refreshHash, expiresAt } = data
      const changed = grants.map((grant) =>
        grant.grantId === grantId ? { ...grant, refreshHash, expiresAt } : grant,
      )
      return { machines, grants: changed }
    }
    case 'AppEnded':
      return { machines, grants: grants.filter(({ grantId }) => grantId !== data.grantId) }
    case 'MachineClientCreated': {
      const { accountId: _, ...said } = data
      return { grants, machines: [...machines, { ...said, createdAt: at, issued: [] }] }
    }
    case 'MachineTokenIssued': {
      const { machineId, proofHash, expiresAt } = data
      const changed = machines.map((machine) => {
        if (machine.machineId !== machineId) return machine
        const issued = machine.issued.filter((one) => one.expiresAt > at)
        return { ...machine, issued: [...issued, { proofHash, expiresAt }] }
      })
      return { grants, machines: changed }
    }
    default:
      return { grants, machines: machines.filter(({ machineId }) => machineId !== data.machineId) }
  }
}
