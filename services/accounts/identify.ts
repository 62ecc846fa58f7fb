import type { Scope } from '../../contracts/domain/oauth.ts'
import type { QuotaWindow, Tier } from '../../contracts/domain/plans.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { comparePositions, type Position, START } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { type PlanPeriod, planAt } from '../../projections/index.ts'
import type { EventStore } from '../log/event-store.ts'
import type { Clock } from '../runtime/async/clock.ts'
import { RecentMap } from '../runtime/cache/recent-map.ts'
import type { AccountIndex, KeyPlace } from './account-index.ts'
import { hashOf, readCredential } from './credentials.ts'
import type { AccessClaims, SessionClaims } from './oauth/tokens.ts'
import { freeWindow, planWindow } from './quota/balance.ts'

/** The caller behind an `Authorization` header. */
export type Identity =
  | {
      readonly outcome: 'OK'
      readonly accountId: string
      /** The id of the key, of the program behind an access token, or of the session of a browser. */
      readonly keyId: string
      /** Whether it is the session of a browser. */
      readonly isSession?: boolean | undefined
      /** The scopes of an access token; undefined for a key, which may do everything. */
      readonly scopes?: readonly Scope[] | undefined
      readonly tier: Tier
      /** The time over which the account's calls are counted now. */
      readonly window: QuotaWindow
    }
  /** No header. */
  | { readonly outcome: 'ABSENT' }
  /** A header that holds no key. */
  | { readonly outcome: 'MALFORMED' }
  /** A key that does not exist, is damaged, or does not apply any more. */
  | { readonly outcome: 'UNKNOWN' }
  /** Whether the key applies cannot be told at the moment. */
  | { readonly outcome: 'INDETERMINATE'; readonly reason: string; readonly cause?: unknown }

/** Finds the account behind an `Authorization` header. Never rejects. */
export type Identify = (authorization: string | undefined) => Promise<Identity>

export interface IdentifierOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly store: Pick<EventStore, 'head'>
  /** Undefined where this process keeps no read models. */
  readonly index: AccountIndex | undefined
  /** The claims of an access token; undefined for a forged one and for one that is for another address. */
  readonly openToken: (text: string) => AccessClaims | undefined
  /** The claims of a session; undefined for a forged one. */
  readonly openSession: (text: string) => SessionClaims | undefined
  readonly signal: AbortSignal
}

/** Tells whose a request is. */
export interface Identifier {
  /** Takes microseconds from memory, and some tens of them from the read model. */
  readonly identify: Identify
  /**
   * An account changed at a position: what is remembered of it is forgotten, and nothing is read of the read
   * model before it has come so far.
   */
  changed(accountId: string, position: Position): void
  /** Resolves once the read model has every change, or after the time limit: check its position afterwards. */
  settled(): Promise<void>
}

interface Remembered {
  readonly identity: Identity & { readonly outcome: 'OK' | 'UNKNOWN' }
  /** Unix milliseconds; a plan may end sooner than memory does. */
  readonly until: number
}

/** Something well-formed whose account is looked for. */
interface Sought {
  /** SHA-256 of the credential, in hex. */
  readonly hash: string
  readonly placeIn: (source: AccountIndex) => KeyPlace | undefined
  readonly scopes?: readonly Scope[]
  readonly isSession?: boolean | undefined
  /** Unix milliseconds. */
  readonly expiresAt?: number
}

const LOOK_EVERY_MS = 2

/** Lets reads of the read model wait until it has come to a position. */
function createIndexGate({ index, now, sleep, signal }: IdentifierOptions) {
  /** The position of the newest change that this process knows of. */
  let required: Position = START
  let isCaughtUp = true

  const hasApplied = (position: Position): boolean => {
    isCaughtUp ||= comparePositions(position, required) >= 0
    return isCaughtUp
  }

  return {
    require(position: Position): void {
      if (comparePositions(position, required) <= 0) return
      required = position
      isCaughtUp = false
    },
    /**
     * Waits until the read model is far enough; by default, at every change that this process knows of.
     *
     * @returns why the read model cannot be read; undefined once it can
     * @throws ServiceError `store_full`
     */
    async wait(isFarEnough = hasApplied): Promise<string | undefined> {
      if (index === undefined) return 'this process keeps no read models'
      const began = now()
      for (;;) {
        const position = index.position()
        if (position === undefined && index.isFull()) throw new ServiceError('store_full')
        if (position === undefined) return 'the read model of accounts does not follow the log at the moment'
        if (isFarEnough(position)) return undefined
        if (signal.aborted || now() - began >= LIMITS.accountIndexWaitMs) {
          return `the read model of accounts is at ${position}, and the log has gone on`
        }
        await sleep(LOOK_EVERY_MS, signal)
      }
    },
  }
}

/** Undefined for a token that is forged or has expired. */
function soughtByToken(
  { openToken, now }: IdentifierOptions,
  hash: string,
  text: string,
): Sought | undefined {
  const claims = openToken(text)
  if (claims === undefined || claims.expiresAt <= now()) return undefined
  const { accountId, appId, expiresAt, scopes } = claims
  return {
    hash,
    scopes,
    expiresAt,
    placeIn(source) {
      const place = source.appOf(appId)
      return place?.accountId === accountId ? place : undefined
    },
  }
}

/** Undefined for a session that is forged, or older than a session may be. */
function soughtBySession(
  { openSession, now }: IdentifierOptions,
  hash: string,
  text: string,
): Sought | undefined {
  const claims = openSession(text)
  if (claims === undefined) return undefined
  const { sessionId: keyId, accountId, generation, begunAt } = claims
  const expiresAt = begunAt + LIMITS.sessionMs
  if (expiresAt <= now()) return undefined
  return {
    hash,
    isSession: true,
    expiresAt,
    placeIn(source) {
      const row = source.account(accountId)
      const holds = row?.state === 'open' && row.generation === generation && begunAt >= row.sessionsFrom
      return holds ? { accountId, keyId } : undefined
    },
  }
}

export function createIdentifier(options: IdentifierOptions): Identifier {
  const { store, index, now } = options
  /** By the hash of the key. */
  const memory = new RecentMap<string, Remembered>(LIMITS.identitiesKept)
  const gate = createIndexGate(options)

  function lookUp(sought: Sought, source: AccountIndex): Remembered['identity'] | undefined {
    const found = identityOf(sought, source, now())
    if (found !== undefined) memory.set(sought.hash, found)
    return found?.identity
  }

  /**
   * Finds the account of a well-formed credential. Before it answers UNKNOWN, the read model reaches the end of the log:
   * another process may have issued the key a moment ago.
   */
  async function find(sought: Sought): Promise<Identity> {
    let reason = await gate.wait()
    if (reason !== undefined || index === undefined) return { outcome: 'INDETERMINATE', reason: reason ?? '' }
    // In one turn from the look at the position to the memory: no change comes in between unseen.
    const known = lookUp(sought, index)
    if (known !== undefined) return known
    const head = await store.head()
    reason = await gate.wait((position) => comparePositions(position, head) >= 0)
    if (reason !== undefined) return { outcome: 'INDETERMINATE', reason }
    const issued = lookUp(sought, index)
    if (issued !== undefined) return issued
    // Nobody guesses a key before it is issued, so this one stays unknown.
    const identity = { outcome: 'UNKNOWN' } as const
    memory.set(sought.hash, { identity, until: now() + LIMITS.identityMs })
    return identity
  }

  return {
    async identify(authorization) {
      const credential = readCredential(authorization)
      if (credential.kind === 'absent') return { outcome: 'ABSENT' }
      if (credential.kind === 'malformed') return { outcome: 'MALFORMED' }
      if (credential.kind === 'damaged') return { outcome: 'UNKNOWN' }
      const hash = credential.kind === 'key' ? credential.hash : hashOf(credential.text)
      const known = memory.get(hash)
      if (known !== undefined && now() < known.until) return known.identity
      const sought: Sought | undefined =
        credential.kind === 'token'
          ? soughtByToken(options, hash, credential.text)
          : credential.kind === 'session'
            ? soughtBySession(options, hash, credential.text)
            : { hash, placeIn: (source) => source.keyOf(hash) }
      if (sought === undefined) return { outcome: 'UNKNOWN' }
      try {
        return await find(sought)
      } catch (error) {
        return { outcome: 'INDETERMINATE', reason: 'the log does not answer at the moment', cause: error }
      }
    },
    changed(accountId, position) {
      for (const [hash, { identity }] of memory) {
        if (identity.outcome === 'OK' && identity.accountId === accountId) memory.delete(hash)
      }
      gate.require(position)
    },
    async settled() {
      await gate.wait()
    },
  }
}

/** The caller with a credential, and until when that holds; undefined for a credential that nobody has. */
function identityOf(
  { placeIn, scopes, isSession, expiresAt = Number.POSITIVE_INFINITY }: Sought,
  source: AccountIndex,
  at: number,
): Remembered | undefined {
  const place = placeIn(source)
  const row = place && source.account(place.accountId)
  if (place === undefined || row === undefined) return undefined
  const { accountId, keyId } = place
  if (expiresAt <= at) return undefined
  const { tier, window } = entitlementOf(row.plans, at)
  const identity = { outcome: 'OK', accountId, keyId, tier, window, scopes, isSession } as const
  const next = row.plans.find(({ from }) => from > at)?.from ?? Number.POSITIVE_INFINITY
  return { identity, until: Math.min(at + LIMITS.identityMs, window.to, next, expiresAt) }
}

/** The tier and the quota window of an account at an instant. */
export function entitlementOf(
  plans: readonly PlanPeriod[],
  now: number,
): { readonly tier: Tier; readonly window: QuotaWindow } {
  const plan = planAt(plans, now)
  return plan === undefined
    ? { tier: 'free', window: freeWindow(now) }
    : { tier: plan.tier, window: planWindow(plan.from, plan.to) }
}
