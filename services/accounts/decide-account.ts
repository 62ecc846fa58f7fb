import { isoTime } from '../../contracts/domain/iso-time.ts'
import { PLAN_DAYS, TIERS, type Tier } from '../../contracts/domain/plans.ts'
import { DAY_MS } from '../../contracts/domain/timeframes.ts'
import { assert } from '../../contracts/errors/assert.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import type { KeyLabel } from '../../contracts/events/account-events.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { type PlanPeriod, planAt } from '../../projections/index.ts'
import type { AccountFact, AccountState, OpenSignIn } from './account-state.ts'

/** A key on its way to an account. */
export interface NewKey {
  readonly keyId: string
  readonly keyHash: string
  readonly hint: string
  readonly label: KeyLabel
}

/** The purpose of a sign-in code. */
export type Granted =
  | {
      readonly key: NewKey
      /** A key to revoke in the same append, for an account that has as many as it may have. */
      readonly revoke: string | undefined
    }
  /** A session of the pages, which stands in no event. */
  | { readonly key?: undefined }

/** The commands of an account. Times are Unix milliseconds. */
export type AccountCommand =
  | {
      readonly kind: 'RequestSignIn'
      readonly requestId: string
      readonly codeHash: string
      readonly now: number
    }
  | ({
      readonly kind: 'ConfirmSignIn'
      /** The request whose code it is; any that is open where it is undefined. */
      readonly requestId: string | undefined
      /** Whether the code that was given is the one of this hash, sent for this request. */
      readonly isCode: (requestId: string, codeHash: string) => boolean
      /** The address, sealed, for an account that is not open. */
      readonly sealedEmail: string
      readonly now: number
    } & Granted)
  | { readonly kind: 'Open'; readonly sealedEmail: string | null }
  | { readonly kind: 'IssueKey'; readonly key: NewKey }
  | { readonly kind: 'RevokeKey'; readonly keyId: string; readonly reason: string }
  | {
      readonly kind: 'StartPlan'
      readonly tier: Tier
      readonly source: 'operator' | 'payment'
      readonly reference: string | null
      /** When the payment was claimed, as the log has it; left out where none was. */
      readonly claimedAtMs?: number
      readonly now: number
    }
  | { readonly kind: 'Erase' }
  | {
      readonly kind: 'TakeSlot'
      readonly subscriptionId: string
      /** The account's generation, as the caller knows it. */
      readonly generation: number
      readonly now: number
    }
  | { readonly kind: 'FreeSlot'; readonly subscriptionId: string }
  | { readonly kind: 'Mail' }
  | {
      readonly kind: 'EndSessions'
      /** Ends sessions that began before then, Unix milliseconds. */
      readonly before: number
      readonly reason: string
    }

export interface Decision {
  readonly facts: readonly AccountFact[]
  /** Thrown once the facts are recorded. */
  readonly refusal?: ServiceError
}

/**
 * Decides a command. Opening an open account, taking a taken slot and freeing a free slot do nothing.
 *
 * @throws ServiceError `account_unknown`, `limit_reached`, `not_found`, `invalid_request`;
 *   nothing happens then
 */
export function decide(accountId: string, command: AccountCommand, state: AccountState): Decision {
  switch (command.kind) {
    case 'RequestSignIn':
      return requestSignIn(accountId, command, state)
    case 'ConfirmSignIn':
      return confirmSignIn(accountId, command, state)
    case 'Open':
      return { facts: opening(accountId, command.sealedEmail, state) }
    case 'IssueKey':
      requireOpen(accountId, state)
      requireRoom(state)
      return { facts: [issued(accountId, command.key)] }
    case 'RevokeKey':
      requireOpen(accountId, state)
      return { facts: [revoked(accountId, command.keyId, command.reason, state)] }
    case 'StartPlan':
      return { facts: startPlan(accountId, command, state) }
    case 'TakeSlot':
      return { facts: takeSlot(accountId, command, state) }
    case 'FreeSlot':
      return { facts: freeSlot(accountId, command.subscriptionId, state) }
    case 'EndSessions': {
      requireOpen(accountId, state)
      const { before, reason } = command
      if (state.signedInAt < state.sessionsFrom) return { facts: [] }
      return { facts: [{ type: 'SessionsEnded', data: { accountId, before, reason } }] }
    }
    case 'Mail':
      requireOpen(accountId, state)
      return { facts: [{ type: 'OwnerMailed', data: { accountId } }] }
    default:
      requireOpen(accountId, state)
      return { facts: [{ type: 'AccountErased', data: { accountId, generation: state.generation } }] }
  }
}

/**
 * Several codes are valid at a time, so that a stranger's request does not end the owner's code. A request past the
 * limit sends nothing, and the answer does not say so: the mailbox has valid codes already.
 */
function requestSignIn(
  accountId: string,
  { requestId, codeHash, now }: Extract<AccountCommand, { kind: 'RequestSignIn' }>,
  { signIns }: AccountState,
): Decision {
  if (openAt(signIns, now).length >= LIMITS.signInsOpen) return { facts: [] }
  const expiresAt = now + LIMITS.signInCodeMs
  const data = { accountId, requestId, codeHash, expiresAt }
  return { facts: [{ type: 'SignInRequested', data }] }
}

const openAt = (signIns: readonly OpenSignIn[], now: number): OpenSignIn[] =>
  signIns.filter(({ expiresAt }) => expiresAt > now)

/** The open sign-in request whose code was given; undefined for a wrong code. */
export const provenSignIn = (
  { signIns }: Pick<AccountState, 'signIns'>,
  {
    requestId,
    isCode,
    now,
  }: Pick<Extract<AccountCommand, { kind: 'ConfirmSignIn' }>, 'requestId' | 'isCode' | 'now'>,
): OpenSignIn | undefined =>
  openAt(signIns, now)
    .filter((signIn) => requestId === undefined || signIn.requestId === requestId)
    .find((signIn) => isCode(signIn.requestId, signIn.codeHash))

/** Wrong codes leave no trace and end nothing: that would let anybody end the sign-in of somebody else. */
function confirmSignIn(
  accountId: string,
  command: Extract<AccountCommand, { kind: 'ConfirmSignIn' }>,
  state: AccountState,
): Decision {
  const proven = provenSignIn(state, command)
  if (proven === undefined) return { facts: [], refusal: new ServiceError('sign_in_refused') }
  const { requestId } = proven
  const begun = command.key === undefined ? [] : issuedAtSignIn(accountId, command, state)
  return {
    facts: [
      ...opening(accountId, command.sealedEmail, state),
      { type: 'SignInConfirmed', data: { accountId, requestId } },
      ...begun,
    ],
  }
}

function issuedAtSignIn(
  accountId: string,
  { key, revoke }: { readonly key: NewKey; readonly revoke: string | undefined },
  state: AccountState,
): AccountFact[] {
  if (revoke !== undefined) {
    return [revoked(accountId, revoke, 'at sign-in', state), issued(accountId, key)]
  }
  requireRoom(state)
  return [issued(accountId, key)]
}

const opening = (accountId: string, sealedEmail: string | null, state: AccountState): AccountFact[] =>
  state.isOpen
    ? []
    : [{ type: 'AccountOpened', data: { accountId, generation: state.generation, sealedEmail } }]

const issued = (accountId: string, key: NewKey): AccountFact => ({
  type: 'KeyIssued',
  data: { accountId, ...key },
})

function revoked(accountId: string, keyId: string, reason: string, { keys }: AccountState): AccountFact {
  if (keys.some((key) => key.keyId === keyId)) {
    return { type: 'KeyRevoked', data: { accountId, keyId, reason } }
  }
  throw new ServiceError('not_found', { message: `The account has no key ${keyId} that applies.` })
}

/**
 * A plan begins at once and replaces plans of other tiers. After a plan of the same tier it waits for its end, so that
 * no paid time is lost. Without a plan, an account is on free. A payment begins one plan in the life of an address,
 * however often it is presented, and none in an account that was opened after the payment was claimed: the operator
 * sends back the payment of an erased account, so it must not begin a plan as well.
 *
 * A bought plan never ends a dearer one. The sale is refused beforehand; if a dearer plan begins in between, the
 * cheaper one begins after it.
 */
function startPlan(
  accountId: string,
  { tier, source, reference, claimedAtMs, now }: Extract<AccountCommand, { kind: 'StartPlan' }>,
  state: AccountState,
): AccountFact[] {
  if (reference !== null && state.bought.some((plan) => plan.reference === reference)) return []
  requireOpen(accountId, state)
  if (claimedAtMs !== undefined && claimedAtMs < state.openedAt) throw formerAccountError(accountId)
  const ahead = state.plans.filter(({ to }) => to > now)
  const kept = ahead.filter(
    (plan) => plan.tier === tier || (source === 'payment' && isDearer(plan.tier, tier)),
  )
  const replaced = [...new Set(ahead.filter((plan) => !kept.includes(plan)).map((plan) => plan.tier))]
  const endings = replaced.map(
    (other): AccountFact => ({
      type: 'PlanEnded',
      data: {
        accountId,
        tier: other,
        reason: tier === 'free' ? `ended by the ${source}` : `replaced by ${tier}`,
      },
    }),
  )
  if (tier === 'free') return endings
  // What was paid for begins; who buys is asked for room before anything is taken.
  if (source !== 'payment') requirePlanRoom(kept)
  const from = Math.max(now, ...kept.map(({ to }) => to))
  const to = from + PLAN_DAYS * DAY_MS
  assert(!kept.some((plan) => plan.to > from), 'a plan begins after those that it waits for', from)
  assert(!replaced.includes(tier), 'a plan does not replace one of its own tier', tier)
  return [...endings, { type: 'PlanStarted', data: { accountId, tier, from, to, source, reference } }]
}

function takeSlot(
  accountId: string,
  { subscriptionId, generation, now }: Extract<AccountCommand, { kind: 'TakeSlot' }>,
  state: AccountState,
): AccountFact[] {
  requireOpen(accountId, state)
  if (generation !== state.generation) throw new ServiceError('account_unknown')
  const taken = state.slots.filter((slot) => slot.generation === generation)
  if (taken.some((slot) => slot.subscriptionId === subscriptionId)) return []
  const isPaid = planAt(state.plans, now) !== undefined
  const limit = isPaid ? LIMITS.subscriptionsOnPaid : LIMITS.subscriptionsOnFree
  if (taken.length < limit) return [{ type: 'SubscriptionSlotTaken', data: { accountId, subscriptionId } }]
  throw new ServiceError('limit_reached', {
    message: `The account has ${taken.length} subscriptions; its plan allows ${limit}.`,
    details: { limit, subscriptions: taken.length },
  })
}

/** Frees a slot, also of an erased account, whose subscriptions are removed afterwards. */
const freeSlot = (accountId: string, subscriptionId: string, { slots }: AccountState): AccountFact[] =>
  slots.some((slot) => slot.subscriptionId === subscriptionId)
    ? [{ type: 'SubscriptionSlotFreed', data: { accountId, subscriptionId } }]
    : []

/** @param same plans of a tier that have not ended. @throws ServiceError `invalid_request` */
function requirePlanRoom(same: readonly PlanPeriod[]): void {
  if (same.length < LIMITS.plansAhead) return
  throw new ServiceError('invalid_request', {
    message: `tier: ${same.length} plans of ${same[0]?.tier} have not ended, which is as many as there may be`,
  })
}

/**
 * Whether an account can buy a further plan of a tier.
 *
 * @throws ServiceError `account_unknown`, `invalid_request`; `plan_conflict` where a dearer one has not ended
 */
export function requireRoomFor(accountId: string, tier: Tier, state: AccountState, now: number): void {
  requireOpen(accountId, state)
  const ahead = state.plans.filter(({ to }) => to > now)
  const dearer = ahead.findLast((plan) => isDearer(plan.tier, tier))
  if (dearer !== undefined) throw planConflict(tier, dearer)
  requirePlanRoom(ahead.filter((plan) => plan.tier === tier))
}

const isDearer = (one: Tier, other: Tier): boolean => TIERS.indexOf(one) > TIERS.indexOf(other)

function planConflict(tier: Tier, dearer: PlanPeriod): ServiceError {
  const until = isoTime(dearer.to)
  return new ServiceError('plan_conflict', {
    message: `The account has a ${dearer.tier} plan until ${until}, which a ${tier} plan would end; nothing was charged.`,
    details: { tier: dearer.tier, until },
  })
}

const formerAccountError = (accountId: string): ServiceError =>
  new ServiceError('account_unknown', {
    message: `The account ${accountId} that the plan was paid for was erased before the plan began.`,
  })

export function requireOpen(accountId: string, { isOpen }: AccountState): void {
  if (!isOpen) throw new ServiceError('account_unknown', { message: `There is no account ${accountId}.` })
}

function requireRoom({ keys }: AccountState): void {
  if (keys.length < LIMITS.keysPerAccount) return
  throw new ServiceError('limit_reached', {
    message: `The account has ${keys.length} keys, which is as many as it may have.`,
    details: { limit: LIMITS.keysPerAccount, keys: keys.map(({ keyId, hint }) => ({ key_id: keyId, hint })) },
  })
}
