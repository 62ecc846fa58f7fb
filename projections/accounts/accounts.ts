import type { ServiceEvent } from '../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../contracts/json.ts'
import type { Tier } from '../../contracts/plans.ts'
import type { Projection, Rows } from '../projection.ts'

/** The account of an API key. Key: {@link keyRowKey} of its hash, and {@link keyIdRowKey} of its id. */
export interface KeyRow extends JsonObject {
  readonly kind: 'key'
  readonly accountId: string
  readonly keyId: string
}

/** A browser session. Key: {@link sessionRowKey} of the hash of its secret. Times are Unix milliseconds. */
export interface SessionRow extends JsonObject {
  readonly kind: 'session'
  readonly accountId: string
  readonly sessionId: string
  readonly begunAt: number
  /** Time of the last recorded use. */
  readonly seenAt: number
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
  readonly sessions: readonly { readonly sessionId: string; readonly secretHash: string }[]
  /** Ids of the programs that act for it. */
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

export type AccountsRow = KeyRow | SessionRow | AppRow | AccountRow | ErasureRow

/** @param keyHash SHA-256 of the key, in hex */
export const keyRowKey = (keyHash: string): string => `key/${keyHash}`
export const keyIdRowKey = (keyId: string): string => `key-id/${keyId}`
/** @param secretHash SHA-256 of the secret, in hex */
export const sessionRowKey = (secretHash: string): string => `session/${secretHash}`
/** @param appId of a grant */
export const appRowKey = (appId: string): string => `app/${appId}`
export const ACCOUNT_PREFIX = 'account/'
export const accountRowKey = (accountId: string): string => `${ACCOUNT_PREFIX}${accountId}`
export const ERASED_PREFIX = 'erased/'

type AccountEvent = Extract<ServiceEvent, { data: { accountId: string } }>

/**
 * Finds the account of a key, a session or a program, and what it is entitled to. Keys and sessions that have ended, or
 * whose account is erased, have no row. All of it is in one projection, so that a key and its plan are of the same moment.
 */
export const accounts: Projection<AccountsRow> = {
  name: 'accounts',
  version: 3,
  events: [
    'AccountOpened',
    'KeyIssued',
    'KeyRevoked',
    'SessionBegun',
    'SessionSeen',
    'SessionEnded',
    'PlanStarted',
    'PlanEnded',
    'AccountErased',
    'AppTokenIssued',
    'AppEnded',
  ],
  fold(rows, event) {
    if (event.type === 'AccountOpened') {
      const { accountId } = event.data
      const opened = { kind: 'account', accountId, state: 'open', openedAt: event.at } as const
      rows.put(accountRowKey(accountId), { ...opened, keys: [], sessions: [], apps: [], plans: [] })
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
    case 'SessionBegun':
    case 'SessionSeen':
    case 'SessionEnded':
      return changeSessions(rows, row, event, put)
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
      for (const { secretHash } of row.sessions) rows.delete(sessionRowKey(secretHash))
      for (const appId of row.apps) rows.delete(appRowKey(appId))
      const { generation } = event.data
      rows.put(`${ERASED_PREFIX}${accountId}.${generation}`, { kind: 'erasure', accountId, generation })
      return put({ state: 'erased', keys: [], sessions: [], apps: [], plans: [] })
    }
    default:
  }
}

type SessionEvent = Extract<ServiceEvent, { type: 'SessionBegun' | 'SessionSeen' | 'SessionEnded' }>

function changeSessions(
  rows: Rows<AccountsRow>,
  { accountId, sessions }: AccountRow,
  event: SessionEvent,
  put: (changed: Partial<AccountRow>) => void,
): void {
  const { sessionId } = event.data
  const at = Date.parse(event.at)
  if (event.type === 'SessionBegun') {
    const { secretHash } = event.data
    rows.put(sessionRowKey(secretHash), { kind: 'session', accountId, sessionId, begunAt: at, seenAt: at })
    return put({ sessions: [...sessions, { sessionId, secretHash }] })
  }
  const session = sessions.find((one) => one.sessionId === sessionId)
  if (session === undefined) return
  const key = sessionRowKey(session.secretHash)
  const before = rows.get(key)
  if (event.type === 'SessionEnded') {
    rows.delete(key)
    return put({ sessions: sessions.filter((one) => one !== session) })
  }
  if (before?.kind === 'session') rows.put(key, { ...before, seenAt: at })
}

function forget(rows: Rows<AccountsRow>, row: AccountRow, keyId: string): void {
  const key = row.keys.find((candidate) => candidate.keyId === keyId)
  if (key === undefined) return
  rows.delete(keyRowKey(key.keyHash))
  rows.delete(keyIdRowKey(keyId))
}
