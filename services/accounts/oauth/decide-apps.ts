import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { AccountFact, AccountState } from '../account-state.ts'
import { type AccountCommand, type Decision, decide, requireOpen } from '../decide-account.ts'
import { type AppFact, type Grant, liveGrants } from './app-state.ts'

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

/** Ends the keys, sessions and programs that are older than an instant, Unix milliseconds. */
export interface EndBeforeCommand {
  readonly kind: 'EndBefore'
  readonly before: number
  readonly reason: string
}

/** A command to an account, or the programs that act for it. */
export type AnyCommand = AccountCommand | AppCommand | EndBeforeCommand

/** @throws ServiceError those of {@link decide} and {@link decideApps} */
export function decideAny(accountId: string, command: AnyCommand, state: AccountState): Decision {
  switch (command.kind) {
    case 'EndBefore':
      return { facts: endBefore(accountId, command, state) }
    case 'AuthorizeApp':
      requireOpen(accountId, state)
      return decideApps(accountId, command, state.apps)
    case 'ExchangeCode':
    case 'RefreshApp':
    case 'EndApp':
      // No token of an erased account holds, and the refusal must not reveal that the account existed.
      if (!state.isOpen) throw refused('The code or the token does not hold.')
      return decideApps(accountId, command, state.apps)
    default:
      return decide(accountId, command, state)
  }
}

function endBefore(
  accountId: string,
  { before, reason }: EndBeforeCommand,
  { keys, signedInAt, sessionsFrom, apps }: AccountState,
): AccountFact[] {
  const old = { accountId, reason }
  const hasOlder = signedInAt >= sessionsFrom && sessionsFrom < before
  return [
    ...keys
      .filter(({ issuedAt }) => issuedAt < before)
      .map(({ keyId }) => ({ type: 'KeyRevoked', data: { ...old, keyId } }) as const),
    ...(hasOlder ? [{ type: 'SessionsEnded', data: { ...old, before } } as const] : []),
    ...apps
      .filter(({ grantedAt }) => grantedAt < before)
      .map(({ grantId }) => ended(accountId, grantId, reason)),
  ]
}

/**
 * Decides a command for the programs of an open account. A code or a refresh token that is presented twice ends the
 * program: one of the two presenters has stolen it, and nobody can tell which.
 *
 * @throws ServiceError `limit_reached`, `unauthorized`, `not_found`; nothing happens then
 */
function decideApps(accountId: string, command: AppCommand, grants: readonly Grant[]): Decision {
  switch (command.kind) {
    case 'AuthorizeApp': {
      const { kind: _, now, ...said } = command
      const live = liveGrants(grants, now)
      const isFull = live.length >= LIMITS.appsPerAccount
      // A program that keeps no tokens asks anew each time; it must not shut all others out.
      const former = isFull ? live.find(({ clientHash }) => clientHash === said.clientHash) : undefined
      if (isFull && former === undefined) {
        throw new ServiceError('limit_reached', {
          nextStep:
            'End one that is no longer used on the account page or with DELETE /api/apps/:id, then try again.',
          message: `${live.length} programs act for it, which is as many as there may be.`,
          details: { limit: LIMITS.appsPerAccount },
        })
      }
      const codeExpiresAt = now + LIMITS.oauthCodeMs
      const data = { ...said, scopes: [...said.scopes], accountId, codeExpiresAt }
      const silent = grants.filter((one) => one.refreshHash !== null && one.expiresAt <= now)
      const endings = [
        ...silent.map(({ grantId }) => ended(accountId, grantId, 'it was silent for long')),
        ...(former === undefined ? [] : [ended(accountId, former.grantId, GAVE_WAY)]),
      ]
      return { facts: [...endings, { type: 'AppAuthorized', data }] }
    }
    case 'ExchangeCode':
      return exchange(accountId, command, grants)
    case 'RefreshApp':
      return refresh(accountId, command, grants)
    default: {
      const { grantId, reason } = command
      if (grants.some((grant) => grant.grantId === grantId)) {
        return { facts: [ended(accountId, grantId, reason)] }
      }
      throw new ServiceError('not_found', { message: `No program ${grantId} acts for the account.` })
    }
  }
}

const GAVE_WAY = 'it gave way to a newer sign-in of the same program'

function exchange(
  accountId: string,
  { grantId, now, ...given }: Extract<AppCommand, { kind: 'ExchangeCode' }>,
  grants: readonly Grant[],
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
  grants: readonly Grant[],
): Decision {
  const grant = grantOf(grants, grantId)
  if (grant.clientHash !== given.clientHash) throw refused('The refresh token is of another client.')
  if (grant.refreshHash !== given.usedHash) return endedByReuse(accountId, grantId, 'a refresh token')
  if (grant.expiresAt <= now) throw refused('The refresh token has expired.')
  return { facts: [tokenIssued(accountId, grantId, given.refreshHash, now)] }
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

const refused = (message: string): ServiceError => new ServiceError('unauthorized', { message })
