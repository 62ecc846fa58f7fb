import type { Tier } from '../../contracts/domain/plans.ts'
import type { ServiceEvent } from '../../contracts/events/event-catalogue.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { Projection, Rows } from '../projection.ts'

/** The account of an API key. Key: {@link keyRowKey} of its hash, and {@link keyIdRowKey} of its id. */
export interface KeyRow extends JsonObject {
  readonly kind: 'key'
  readonly accountId: string
  readonly keyId: string
}

/** A program that may act for an account. Key: {@link appRowKey}. */
export interface AppRow extends JsonObject {
  readonly kind: 'app'
  readonly accountId: string
}

/** A paid period; Unix milliseconds, `to` exclusive. */
export interface PlanPeriod extends JsonObject {
  readonly tier: Exclude<Tier, 'free'>
  readonly from: number
  readonly to: number
}

/** The paid plan that runs at an instant; undefined on free. */
export const planAt = (plans: readonly PlanPeriod[], now: number): PlanPeriod | undefined =>
  plans.find(({ from, to }) => from <= now && now < to)

/** An account, without anything personal. Key: {@link accountRowKey}. */
export interface AccountRow extends JsonObject {
  readonly kind: 'account'
  readonly accountId: string
  readonly state: 'open' | 'erased'
  /** When it was opened, for the last time; ISO 8601. */
  readonly openedAt: string
  readonly keys: readonly { readonly keyId: string; readonly keyHash: string }[]
  /** How many times it was erased before. */
  readonly generation: number
  /** Sessions that began before then have ended, Unix milliseconds. */
  readonly sessionsFrom: number
  readonly apps: readonly string[]
  /** Plans that may still run, oldest first. */
  readonly plans: readonly PlanPeriod[]
}

/** An account that was erased, once for each time. Key: {@link ERASED_PREFIX} and the two. */
export interface ErasureRow extends JsonObject {
  readonly kind: 'erasure'
  readonly accountId: string
  readonly generation: number
}

export type AccountsRow = KeyRow | AppRow | AccountRow | ErasureRow

/** @param keyHash SHA-256 of the key, in hex */
export const keyRowKey = (keyHash: string): string => `key/${keyHash}`
export const keyIdRowKey = (keyId: string): string => `key-id/${keyId}`
/** @param appId of a grant */
export const appRowKey = (appId: string): string => `app/${appId}`
export const ACCOUNT_PREFIX = 'account/'
export const accountRowKey = (accountId: string): string => `${ACCOUNT_PREFIX}${accountId}`
export const ERASED_PREFIX = 'erased/'

type AccountEvent = Extract<ServiceEvent, { data: { accountId: string } }>

/**
 * Finds the account of a key or a program, what it is entitled to, and since when its sessions hold. Keys that have ended, or
 * whose account is erased, have no row. All of it is in one projection, so that a key and its plan are of the same moment.
 */
export const accounts: Projection<AccountsRow> = {
  name: 'accounts',
  version: 4,
  events: [
    'AccountOpened',
    'KeyIssued',
    'KeyRevoked',
    'SessionsEnded',
    'PlanStarted',
    'PlanEnded',
    'AccountErased',
    'AppTokenIssued',
    'AppEnded',
  ],
  fold(rows, event) {
    if (event.type === 'AccountOpened') {
      const { accountId, generation } = event.data
      const opened = { kind: 'account', accountId, generation, state: 'open', openedAt: event.at } as const
      rows.put(accountRowKey(accountId), { ...opened, keys: [], sessionsFrom: 0, apps: [], plans: [] })
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
    case 'SessionsEnded':
      return put({ sessionsFrom: Math.max(row.sessionsFrom, event.data.before) })
    case 'AppTokenIssued': {
      const appId = event.data.grantId
      if (row.apps.includes(appId)) return
      rows.put(appRowKey(appId), { kind: 'app', accountId })
      return put({ apps: [...row.apps, appId] })
    }
    case 'AppEnded':
      rows.delete(appRowKey(event.data.grantId))
      return put({ apps: row.apps.filter((appId) => appId !== event.data.grantId) })
    case 'PlanStarted': {
      const { tier, from, to } = event.data
      const at = Date.parse(event.at)
      return put({ plans: [...row.plans.filter((plan) => plan.to > at), { tier, from, to }] })
    }
    case 'PlanEnded':
      return put({ plans: row.plans.filter(({ tier }) => tier !== event.data.tier) })
    case 'AccountErased': {
      for (const { keyId } of row.keys) forget(rows, row, keyId)
      for (const appId of row.apps) rows.delete(appRowKey(appId))
      const { generation } = event.data
      rows.put(`${ERASED_PREFIX}${accountId}.${generation}`, { kind: 'erasure', accountId, generation })
      return put({ state: 'erased', keys: [], apps: [], plans: [] })
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
