import type { Origin } from '../infra/event.ts'
import type { Tier } from './plans.ts'

/** An account between one erasure and the next: whose key a text is sealed under. */
export interface Subject {
  readonly accountId: string
  readonly generation: number
}

/** Texts of a subject, unsealed, and what seals others of it. */
export interface OpenedTexts {
  readonly texts: readonly string[]
  readonly seal: (purpose: string, text: string) => string
}

/** Room that a subscription takes. */
export interface SubscriptionSlot {
  readonly subscriptionId: string
  /** Unix milliseconds. */
  readonly takenAt: number
}

/** Accounts, as the keeper of subscriptions needs them. Ids are UUIDs in lower case. */
export interface OwnerAccounts {
  /**
   * Seals a text so that erasing the account makes it unreadable, wherever copies of it are.
   *
   * @param purpose what the text is, `secret of 5f0c…`; it opens for the same purpose only
   * @returns the text, and the generation of the account, which it takes to open it
   * @throws ServiceError `account_unknown`; of the store
   */
  sealFor(
    accountId: string,
    purpose: string,
    text: string,
    origin: Origin,
  ): Promise<{ readonly generation: number; readonly sealed: string }>
  /**
   * Opens what {@link OwnerAccounts.sealFor} sealed, in the order given.
   *
   * @throws ServiceError `account_unknown` where the account was erased since
   */
  unsealFor(
    subject: Subject,
    texts: readonly { readonly purpose: string; readonly sealed: string }[],
  ): Promise<readonly string[]>
  /**
   * Does the work of `unsealFor`, and seals further texts as `sealFor` does, without waiting: to be kept for a moment
   * only, since it would outlive an erasure.
   *
   * @throws ServiceError `account_unknown` where the account was erased since
   */
  openFor(
    subject: Subject,
    texts: readonly { readonly purpose: string; readonly sealed: string }[],
  ): Promise<OpenedTexts>
  /**
   * Takes room for a subscription, within what the plan allows at this moment; taking it again does nothing.
   *
   * @param subject as `sealFor` told its generation
   * @throws ServiceError `limit_reached`; `account_unknown` where the account was erased meanwhile
   */
  takeSlot(subject: Subject, subscriptionId: string, origin: Origin): Promise<void>
  /** Gives the room back; of one that is free it does nothing. */
  freeSlot(accountId: string, subscriptionId: string, origin: Origin): Promise<void>
  /** The room that is taken now, other processes' included: by subscriptions, and what crashes left behind. */
  slots(accountId: string): Promise<{
    /** Slots of the account as it is. */
    readonly current: readonly SubscriptionSlot[]
    /** Slots of the account before it was erased: these subscriptions are to be removed. */
    readonly former: readonly SubscriptionSlot[]
  }>
  standing(accountId: string): Promise<{
    /** The plan at this moment; free for one that is not open. */
    readonly tier: Tier
    /** The name under which its POSTs are counted: free accounts of one mailbox (`ada+1@`, `ada+2@`) have one. */
    readonly countedAs: string
  }>
  /** Ids of accounts that were erased: those of the past once, then each as it happens. Ends where all waiting is ended. */
  erasedAccounts(): AsyncIterable<string>
}
