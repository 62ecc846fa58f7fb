import type { Subject } from '../../contracts/domain/owner-accounts.ts'
import type { Position } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
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
} from '../../projections/index.ts'
import type { Projector } from '../log/projector/projector.ts'
import type { Clock } from '../runtime/async/clock.ts'

/** The account and the id of a key. */
export interface KeyPlace {
  readonly accountId: string
  readonly keyId: string
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
  /** The account of a program, whose id takes the place of a key's id. */
  appOf(appId: string): KeyPlace | undefined
  account(accountId: string): AccountRow | undefined
  /** All accounts in pages, in the order of their ids, erased ones included. */
  accountPages(after?: string): Iterable<readonly AccountRow[]>
  /** All erased accounts in pages, in the order of their ids. */
  erasedPages(): Iterable<readonly Subject[]>
}

const FOLLOW_MS = 250

/**
 * Waits until the read model follows the log.
 *
 * @returns its position; undefined where the signal ended the waiting
 */
export async function untilFollowing(
  index: Pick<AccountIndex, 'position'>,
  sleep: Clock['sleep'],
  signal: AbortSignal,
): Promise<Position | undefined> {
  let position = index.position()
  while (position === undefined && !signal.aborted) {
    await sleep(FOLLOW_MS, signal)
    position = index.position()
  }
  return position
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
    appOf(appId) {
      const row = reader.get(appRowKey(appId))
      return row?.kind === 'app' ? { accountId: row.accountId, keyId: appId } : undefined
    },
    account(accountId) {
      const row = reader.get(accountRowKey(accountId))
      return row?.kind === 'account' ? row : undefined
    },
    *accountPages(after) {
      for (const rows of pages(ACCOUNT_PREFIX, after && accountRowKey(after)))
        yield rows.flatMap((row) => (row.kind === 'account' ? [row] : []))
    },
    *erasedPages() {
      for (const rows of pages(ERASED_PREFIX))
        yield rows.flatMap((row) => (row.kind === 'erasure' ? [row] : []))
    },
  }

  function* pages(prefix: string, begin?: string): Generator<readonly AccountsRow[]> {
    const limit = LIMITS.accountRows
    for (let after = begin, isMore = true; isMore; ) {
      const rows = reader.range({ prefix, limit, ...(after !== undefined && { after }) })
      yield rows.map(({ row }) => row)
      after = rows.at(-1)?.key
      isMore = rows.length === limit
    }
  }
}
