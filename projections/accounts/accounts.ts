import type { ServiceEvent } from '../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../contracts/json.ts'
import type { Tier } from '../../contracts/plans.ts'
import type { Projection, Rows } from '../projection.ts'

/** Whose an API key is. Key: {@link keyRowKey} of its hash, and {@link keyIdRowKey} of its id. */
export interface KeyRow extends JsonObject {
  readonly kind: 'key'
  readonly accountId: string
  readonly keyId: string
}

/** A paid period; Unix milliseconds, `to` exclusive. */
export interface PlanPeriod extends JsonObject {
  readonly tier: Exclude<Tier, 'free'>
  readonly from: number
  readonly to: number
}

/** An account, without anything personal. Key: {@link accountRowKey}. */
export interface AccountRow extends JsonObject {
  readonly kind: 'account'
  readonly accountId: string
  readonly state: 'open' | 'erased'
  /** When it was opened, for the last time; ISO 8601. */
  readonly openedAt: string
  readonly keys: readonly { readonly keyId: string; readonly keyHash: string }[]
  /** Those that may not have ended, oldest first. */
  readonly plans: readonly PlanPeriod[]
}

/** An account that was erased, once for each time. Key: {@link ERASED_PREFIX} and the two. */
export interface ErasureRow extends JsonObject {
  readonly kind: 'erasure'
  readonly accountId: string
  readonly generation: number
}

export type AccountsRow = KeyRow | AccountRow | ErasureRow

/** @param keyHash SHA-256 of the key, in hex */
export const keyRowKey = (keyHash: string): string => `key/${keyHash}`
export const keyIdRowKey = (keyId: string): string => `key-id/${keyId}`
export const ACCOUNT_PREFIX = 'account/'
export const accountRowKey = (accountId: string): string => `${ACCOUNT_PREFIX}${accountId}`
export const ERASED_PREFIX = 'erased/'

type AccountEvent = Extract<ServiceEvent, { data: { accountId: string } }>

/**
 * Finds the account of a key, and what it is entitled to. Keys that are revoked, or whose account is erased,
 * have no row. All of it is in one projection, so that a key and its plan are of the same moment.
 */
export const accounts: Projection<AccountsRow> = {
  name: 'accounts',
  version: 1,
  changes: 'rows',
  events: ['AccountOpened', 'KeyIssued', 'KeyRevoked', 'PlanStarted', 'PlanEnded', 'AccountErased'],
  fold(rows, event) {
    if (event.type === 'AccountOpened') {
      const { accountId } = event.data
      const opened = { kind: 'account', accountId, state: 'open', openedAt: event.at } as const
      rows.put(accountRowKey(accountId), { ...opened, keys: [], plans: [] })
      return
    }
    if (!('accountId' in event.data) || event.data.accountId === null) return
    const row = rows.get(accountRowKey(event.data.accountId))
    if (row?.kind === 'account') change(rows, row, event as AccountEvent)
  },
}

function change(rows: Rows<AccountsRow>, row: AccountRow, event: AccountEvent): void {
  const { accountId } = row
  const put = (changed: Partial<AccountRow>): void =>
    rows.put(accountRowKey(accountId), { ...row, ...changed } as AccountRow)
  switch (event.type) {
    case 'KeyIssued': {
      const { keyId, keyHash } = event.data
      put({ keys: [...row.keys, { keyId, keyHash }] })
      rows.put(keyRowKey(keyHash), { kind: 'key', accountId, keyId })
      rows.put(keyIdRowKey(keyId), { kind: 'key', accountId, keyId })
      return
    }
    case 'KeyRevoked':
      forget(rows, row, event.data.keyId)
      return put({ keys: row.keys.filter(({ keyId }) => keyId !== event.data.keyId) })
    case 'PlanStarted': {
      const { tier, from, to } = event.data
      const at = Date.parse(event.at)
      return put({ plans: [...row.plans.filter((plan) => plan.to > at), { tier, from, to }] })
    }
    case 'PlanEnded':
      return put({ plans: row.plans.filter(({ tier }) => tier !== event.data.tier) })
    case 'AccountErased': {
      for (const { keyId } of row.keys) forget(rows, row, keyId)
      const { generation } = event.data
      rows.put(`${ERASED_PREFIX}${accountId}.${generation}`, { kind: 'erasure', accountId, generation })
      return put({ state: 'erased', keys: [], plans: [] })
    }
    default:
  }
}

function forget(rows: Rows<AccountsRow>, row: AccountRow, keyId: string): void {
  const key = row.keys.find((candidate) => candidate.keyId === keyId)
  if (key === undefined) return
  rows.delete(keyRowKey(key.keyHash))
  rows.delete(keyIdRowKey(keyId))
}
