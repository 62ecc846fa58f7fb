import type { SubscriptionSlot } from '../../contracts/domain/owner-accounts.ts'
import type { KeyLabel } from '../../contracts/events/account-events.ts'
import type { FactOf } from '../../contracts/events/event-catalogue.ts'
import type { PlanPeriod } from '../../projections/index.ts'
import { type AppFact, evolveApps, type Grant, isAppFact } from './oauth/app-state.ts'

/** The events of an account's stream. */
export type AccountFact =
  | FactOf<'AccountOpened' | 'SignInRequested' | 'SignInConfirmed' | 'AccountErased'>
  | FactOf<'KeyIssued' | 'KeyRevoked' | 'PlanStarted' | 'PlanEnded'>
  | FactOf<'SubscriptionSlotTaken' | 'SubscriptionSlotFreed' | 'OwnerMailed' | 'SessionsEnded'>
  | AppFact

/** A key that applies. */
export interface AccountKey {
  readonly keyId: string
  readonly hint: string
  readonly label: KeyLabel
  /** Unix milliseconds. */
  readonly issuedAt: number
}

/** A plan as it began, by the payment that bought it. */
export interface BoughtPlan extends PlanPeriod {
  readonly reference: string
  /** The account's generation when the plan began. */
  readonly generation: number
}

/** Room that a subscription takes of what the plan allows. */
interface AccountSlot extends SubscriptionSlot {
  /** The account's generation when the slot was taken: slots from before an erasure take no room afterwards. */
  readonly generation: number
}

/** A code that was sent and not used up. */
export interface OpenSignIn {
  readonly requestId: string
  readonly codeHash: string
  readonly expiresAt: number
}

/** An account as its events describe it. Events exist before it is opened: each request to sign in makes one. */
export interface AccountState {
  readonly isOpen: boolean
  /** How many times it was erased. */
  readonly generation: number
  /** Unix milliseconds; 0 before it was opened. */
  readonly openedAt: number
  /** Null where the account is not open, or was opened without an address. */
  readonly sealedEmail: string | null
  /** Codes that may be good still, oldest first. */
  readonly signIns: readonly OpenSignIn[]
  readonly keys: readonly AccountKey[]
  /** The newest sign-in, Unix milliseconds; -1 before the first. */
  readonly signedInAt: number
  /** Sessions that began before then have ended, Unix milliseconds. */
  readonly sessionsFrom: number
  /** Plans that may not have ended, oldest first. */
  readonly plans: readonly PlanPeriod[]
  /**
   * Every plan that was ever bought for this address, oldest first, over erasures too: a payment can be presented
   * for ever. Each took the price of a plan to get here, so nobody fills this with what costs nothing.
   */
  readonly bought: readonly BoughtPlan[]
  /** Oldest first. They outlive an erasure, until their subscriptions are removed. */
  readonly slots: readonly AccountSlot[]
  /** Programs that may act for it. */
  readonly apps: readonly Grant[]
}

export const initialState: AccountState = {
  isOpen: false,
  generation: 0,
  openedAt: 0,
  sealedEmail: null,
  signIns: [],
  keys: [],
  signedInAt: -1,
  sessionsFrom: 0,
  plans: [],
  bought: [],
  slots: [],
  apps: [],
}

/** @param at when the fact was recorded, Unix milliseconds */
export function evolve(state: AccountState, fact: AccountFact, at: number): AccountState {
  if (isAppFact(fact)) return { ...state, apps: evolveApps(state.apps, fact, at) }
  const { type, data } = fact
  switch (type) {
    case 'AccountOpened':
      return { ...state, isOpen: true, openedAt: at, sealedEmail: data.sealedEmail }
    case 'SignInRequested': {
      const { requestId, codeHash, expiresAt } = data
      const open = state.signIns.filter((signIn) => signIn.expiresAt > at)
      return { ...state, signIns: [...open, { requestId, codeHash, expiresAt }] }
    }
    case 'SignInConfirmed':
      return {
        ...state,
        signedInAt: at,
        signIns: state.signIns.filter(({ requestId }) => requestId !== data.requestId),
      }
    case 'KeyIssued': {
      const { keyId, hint, label } = data
      return { ...state, keys: [...state.keys, { keyId, hint, label, issuedAt: at }] }
    }
    case 'KeyRevoked':
      return { ...state, keys: state.keys.filter(({ keyId }) => keyId !== data.keyId) }
    case 'SessionsEnded':
      return { ...state, sessionsFrom: Math.max(state.sessionsFrom, data.before) }
    case 'PlanStarted': {
      const { tier, from, to, reference } = data
      const plans = [...state.plans.filter((plan) => plan.to > at), { tier, from, to }]
      if (reference === null) return { ...state, plans }
      const { generation } = state
      return { ...state, plans, bought: [...state.bought, { reference, tier, from, to, generation }] }
    }
    case 'PlanEnded':
      return { ...state, plans: state.plans.filter(({ tier }) => tier !== data.tier) }
    case 'SubscriptionSlotTaken': {
      const { subscriptionId } = data
      const { generation } = state
      return { ...state, slots: [...state.slots, { subscriptionId, generation, takenAt: at }] }
    }
    case 'SubscriptionSlotFreed':
      return {
        ...state,
        slots: state.slots.filter(({ subscriptionId }) => subscriptionId !== data.subscriptionId),
      }
    case 'AccountErased': {
      // What was bought stays: erasing is no way to begin the plan of a payment once more. So do slots: their
      // subscriptions go next.
      const { slots, bought } = state
      return { ...initialState, generation: data.generation + 1, slots, bought }
    }
    default:
      return state
  }
}
