import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type AccountState } from '../account-state.ts'
import { type AccountCommand, type Decision, decide, requireOpen } from '../decide-account.ts'
import { decideSessions, type SessionCommand } from '../sessions/decide-sessions.ts'
import { type AppFact, type Apps, type Grant, liveGrants, type Machine } from './app-state.ts'

/** The commands for an account's programs. Times are Unix milliseconds. */
export type AppCommand =
  | (Omit<Grant, 'grantedAt' | 'refreshHash' | 'expiresAt'> & {
      readonly kind: 'AuthorizeApp'
      readonly now: number
    })
  | {
      readonly kind: 'ExchangeCode'
      readonly grantId: string
      readonly codeHash: string
      readonly clientHash: string
      readonly redirectHash: string
      /** Made of the verifier that was given. */
      readonly challenge: string
      /** SHA-256 of the next refresh token. */
      readonly refreshHash: string
      readonly now: number
    }
  | {
      readonly kind: 'RefreshApp'
      readonly grantId: string
      readonly clientHash: string
      /** SHA-256 of the presented token, and of the next one. */
      readonly usedHash: string
      readonly refreshHash: string
      readonly now: number
    }
  | { readonly kind: 'EndApp'; readonly grantId: string; readonly reason: string }
  | (Omit<Machine, 'createdAt' | 'issued'> & { readonly kind: 'CreateMachine' })
  | {
      readonly kind: 'IssueMachineToken'
      readonly machineId: string
      readonly proofHash: string | null
      readonly expiresAt: number
      readonly now: number
    }
  | { readonly kind: 'RemoveMachine'; readonly machineId: string; readonly reason: string }

/** A command to an account, its sessions, or the programs that act for it. */
export type AnyCommand = AccountCommand | SessionCommand | AppCommand

/** @throws ServiceError those of {@link decide}, {@link decideSessions} and {@link decideApps} */
export function decideAny(accountId: string, command: AnyCommand, state: AccountState): Decision {
  switch (command.kind) {
    case 'SeeSession':
    case 'EndSession':
    case 'EndOtherSessions':
      requireOpen(accountId, state)
      return { facts: decideSessions(accountId, command, state.sessions) }
    case 'AuthorizeApp':
      requireOpen(accountId, state)
      return decideApps(accountId, command, state.apps)
    case 'ExchangeCode':
    case 'RefreshApp':
    case 'EndApp':
    case 'CreateMachine':
    case 'IssueMachineToken':
    case 'RemoveMachine':
      // No token of an erased account holds, and the refusal must not reveal that the account existed.
      if (!state.isOpen) throw new ServiceError('grant_refused')
      return decideApps(accountId, command, state.apps)
    default:
      return decide(accountId, command, state)
  }
}

/**
 * Decides a command for the programs of an open account. A code or a refresh token that is presented twice ends the
 * program: one of the two presenters has stolen it, and nobody can tell which.
 *
 * @throws ServiceError `too_many_apps`, `grant_refused`, `rate_limited`, `not_found`; nothing happens then
 */
function decideApps(accountId: string, command: AppCommand, apps: Apps): Decision {
  switch (command.kind) {
    case 'AuthorizeApp': {
      const { kind: _, now, ...said } = command
      const live = liveGrants(apps.grants, now)
      const isFull = live.length >= LIMITS.appsPerAccount
      // A program that keeps no tokens asks anew each time; it must not shut all others out.
      const former = isFull ? live.find(({ clientHash }) => clientHash === said.clientHash) : undefined
      if (former === undefined) requireRoom(live.length, LIMITS.appsPerAccount, 'programs act for it')
      const codeExpiresAt = now + LIMITS.oauthCodeMs
      const data = { ...said, scopes: [...said.scopes], accountId, codeExpiresAt }
      const silent = apps.grants.filter((one) => one.refreshHash !== null && one.expiresAt <= now)
      const endings = [
        ...silent.map(({ grantId }) => ended(accountId, grantId, 'it was silent for long')),
        ...(former === undefined ? [] : [ended(accountId, former.grantId, GAVE_WAY)]),
      ]
      return { facts: [...endings, { type: 'AppAuthorized', data }] }
    }
    case 'ExchangeCode':
      return exchange(accountId, command, apps)
    case 'RefreshApp':
      return refresh(accountId, command, apps)
    case 'EndApp': {
      const { grantId, reason } = command
      if (!apps.grants.some((grant) => grant.grantId === grantId)) throw noSuch(grantId)
      return { facts: [ended(accountId, grantId, reason)] }
    }
    case 'CreateMachine': {
      const { kind: _, ...said } = command
      requireRoom(apps.machines.length, LIMITS.machinesPerAccount, 'clients for machines belong to it')
      const data = { ...said, scopes: [...said.scopes], accountId }
      return { facts: [{ type: 'MachineClientCreated', data }] }
    }
    case 'IssueMachineToken':
      return { facts: [machineToken(accountId, command, apps)] }
    default: {
      const { machineId, reason } = command
      if (!apps.machines.some((machine) => machine.machineId === machineId)) throw noSuch(machineId)
      return { facts: [{ type: 'MachineClientRemoved', data: { accountId, machineId, reason } }] }
    }
  }
}

const GAVE_WAY = 'it gave way to a newer sign-in of the same program'

function exchange(
  accountId: string,
  { grantId, now, ...given }: Extract<AppCommand, { kind: 'ExchangeCode' }>,
  { grants }: Apps,
): Decision {
  const grant = grantOf(grants, grantId)
  if (grant.refreshHash !== null) return endedByReuse(accountId, grantId, 'a code')
  if (grant.expiresAt <= now) throw refused('The code has expired.')
  if (grant.codeHash !== given.codeHash) throw refused('This is no code of this service.')
  if (grant.clientHash !== given.clientHash) throw refused('The code was made for another client.')
  if (grant.redirectHash !== given.redirectHash) {
    throw refused('redirect_uri is not the one that the code was asked for with.')
  }
  if (grant.challenge !== given.challenge) throw refused('code_verifier does not fit the challenge.')
  return { facts: [tokenIssued(accountId, grantId, given.refreshHash, now)] }
}

function refresh(
  accountId: string,
  { grantId, now, ...given }: Extract<AppCommand, { kind: 'RefreshApp' }>,
  { grants }: Apps,
): Decision {
  const grant = grantOf(grants, grantId)
  if (grant.clientHash !== given.clientHash) throw refused('The refresh token is of another client.')
  if (grant.refreshHash !== given.usedHash) return endedByReuse(accountId, grantId, 'a refresh token')
  if (grant.expiresAt <= now) throw refused('The refresh token has expired.')
  return { facts: [tokenIssued(accountId, grantId, given.refreshHash, now)] }
}

function machineToken(
  accountId: string,
  { machineId, proofHash, expiresAt, now }: Extract<AppCommand, { kind: 'IssueMachineToken' }>,
  { machines }: Apps,
): AppFact {
  const machine = machines.find((one) => one.machineId === machineId)
  if (machine === undefined) throw refused('The client was removed.')
  const live = machine.issued.filter((one) => one.expiresAt > now)
  if (proofHash !== null && live.some((one) => one.proofHash === proofHash)) {
    throw refused('This client_assertion was used before; sign another, with a new jti.')
  }
  if (live.length >= LIMITS.machineTokens) {
    throw new ServiceError('rate_limited', {
      message: `The client holds ${live.length} access tokens, which is as many as it may; use one until it expires.`,
      details: { limit: LIMITS.machineTokens, retry_after_s: 60 },
    })
  }
  return { type: 'MachineTokenIssued', data: { accountId, machineId, proofHash, expiresAt } }
}

function grantOf(grants: readonly Grant[], grantId: string): Grant {
  const grant = grants.find((one) => one.grantId === grantId)
  if (grant !== undefined) return grant
  throw refused('What it belongs to has ended: it has expired, was ended by its owner, or was used twice.')
}

const tokenIssued = (accountId: string, grantId: string, refreshHash: string, now: number): AppFact => ({
  type: 'AppTokenIssued',
  data: { accountId, grantId, refreshHash, expiresAt: now + LIMITS.refreshTokenMs },
})

const ended = (accountId: string, grantId: string, reason: string): AppFact => ({
  type: 'AppEnded',
  data: { accountId, grantId, reason },
})

const endedByReuse = (accountId: string, grantId: string, what: string): Decision => ({
  facts: [ended(accountId, grantId, `${what} was used twice`)],
  refusal: refused(`This was used before, so somebody else may have ${what}: the program was shut out.`),
})

const refused = (message: string): ServiceError => new ServiceError('grant_refused', { message })

const noSuch = (id: string): ServiceError =>
  new ServiceError('not_found', { message: `No program or client ${id} acts for the account.` })

function requireRoom(count: number, limit: number, what: string): void {
  if (count < limit) return
  throw new ServiceError('too_many_apps', {
    message: `${count} ${what}, which is as many as there may be.`,
    details: { limit },
  })
}
