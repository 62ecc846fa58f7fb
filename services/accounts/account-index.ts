import type { Subject } from '../../contracts/owner-accounts.ts'
import type { Position } from '../../contracts/position.ts'
import {
  ACCOUNT_PREFIX,
  type AccountRow,
  type AccountsRow,
  accountRowKey,
  accounts,
  appRowKey,
  ERASED_PREFIX,
  keyIdRowKey,
  keyRowKey,
  sessionRowKey,
} from '../../projections/index.ts'
import type { Projector } from '../log/projector/projector.ts'
import { sessionEnd } from './sessions/decide-sessions.ts'

/** Whose a key is. */
export interface KeyPlace {
  readonly accountId: string
  readonly keyId: string
}

/** Whose a session is; its id stands as that of a key. Times are Unix milliseconds. */
export interface SessionPlace extends KeyPlace {
  /** Of the last use that was recorded. */
  readonly seenAt: number
  /** When it ends by itself. */
  readonly endsAt: number
}

/** The read model of accounts and keys. */
export interface AccountIndex {
  /** Up to where it holds the log; undefined while it does not follow it. */
  position(): Position | undefined
  /** Whether it does not follow the log because its disk is full. */
  isFull(): boolean
  /** @param hash SHA-256 of the key, in hex */
  keyOf(hash: string): KeyPlace | undefined
  keyById(keyId: string): KeyPlace | undefined
  /** @param hash SHA-256 of the secret, in hex */
  sessionOf(hash: string): SessionPlace | undefined
  /** Whose a program or a machine is; its id stands as that of a key. */
  appOf(appId: string): KeyPlace | undefined
  account(accountId: string): AccountRow | undefined
  /** Accounts in the order of their ids, erased ones included. */
  accounts(page: { readonly after?: string | undefined; readonly limit: number }): AccountRow[]
  /** Accounts that were erased, in the order of their ids. */
  erased(page: { readonly after?: Subject | undefined; readonly limit: number }): Subject[]
}

/** @param projector one that runs the projection of accounts */
export function createAccountIndex(projector: Pick<Projector, 'reader'>): AccountIndex {
  const reader = projector.reader<AccountsRow>(accounts)
  const keyIn = (row: AccountsRow | undefined): KeyPlace | undefined =>
    row?.kind === 'key' ? row : undefined
  return {
    position() {
      const { state, position } = reader.health()
      return state === 'live' ? position : undefined
    },
    isFull: () => reader.health().isFull === true,
    keyOf: (hash) => keyIn(reader.get(keyRowKey(hash))),
    keyById: (keyId) => keyIn(reader.get(keyIdRowKey(keyId))),
    sessionOf(hash) {
      const row = reader.get(sessionRowKey(hash))
      return row?.kind === 'session' ? { ...row, keyId: row.sessionId, endsAt: sessionEnd(row) } : undefined
    },
    appOf(appId) {
      const row = reader.get(appRowKey(appId))
      return row?.kind === 'app' ? { accountId: row.accountId, keyId: appId } : undefined
    },
    account(accountId) {
      const row = reader.get(accountRowKey(accountId))
      return row?.kind === 'account' ? row : undefined
    },
    accounts({ after, limit }) {
      const from = after === undefined ? {} : { after: accountRowKey(after) }
      return reader
        .range({ prefix: ACCOUNT_PREFIX, ...from, limit })
        .flatMap(({ row }) => (row.kind === 'account' ? [row] : []))
    },
    erased({ after, limit }) {
      const from =
        after === undefined ? {} : { after: `${ERASED_PREFIX}${after.accountId}.${after.generation}` }
      return reader
        .range({ prefix: ERASED_PREFIX, ...from, limit })
        .flatMap(({ row }) => (row.kind === 'erasure' ? [row] : []))
    },
  }
}
