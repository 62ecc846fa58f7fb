import type { EventMeta } from '../../../contracts/event.ts'

/** On whose behalf something happens. */
export type Origin = Pick<EventMeta, 'correlationId' | 'actor'>

/** Whose key a text is sealed under: an account, between one erasure and the next. */
export interface Owner {
  readonly accountId: string
  readonly generation: number
}

export interface OwnerSlot {
  readonly subscriptionId: string
  /** Unix milliseconds. */
  readonly takenAt: number
}

/** What subscriptions need of the accounts that own them. */
export interface OwnerAccounts {
  /**
   * Seals a text so that erasing the account makes it unreadable.
   *
   * @param purpose what the text is; it opens for the same purpose only
   * @throws ServiceError `account_unknown`; of the store
   */
  sealFor(
    accountId: string,
    purpose: string,
    text: string,
    origin: Origin,
  ): Promise<{ readonly generation: number; readonly sealed: string }>
  /** Inverse of `sealFor`. @throws ServiceError `account_unknown` where the account was erased since */
  unsealFor(
    owner: Owner,
    texts: readonly { readonly purpose: string; readonly sealed: string }[],
  ): Promise<readonly string[]>
  /** What `unsealFor` does, and what seals other texts of the owner without waiting; to be kept for a moment only. */
  openFor(
    owner: Owner,
    texts: readonly { readonly purpose: string; readonly sealed: string }[],
  ): Promise<{
    readonly texts: readonly string[]
    readonly seal: (purpose: string, text: string) => string
  }>
  /** Taking what is taken does nothing. @throws ServiceError `too_many_subscriptions`, `account_unknown` */
  takeSlot(owner: Owner, subscriptionId: string, origin: Origin): Promise<void>
  /** Freeing what is free does nothing. */
  freeSlot(accountId: string, subscriptionId: string, origin: Origin): Promise<void>
  /** Slots of the account as it is, and of what it was before it was erased. */
  slots(accountId: string): Promise<{
    readonly current: readonly OwnerSlot[]
    readonly former: readonly OwnerSlot[]
  }>
  /** Ids of accounts that were erased: those of the past once, then each as it happens. */
  erasedAccounts(): AsyncIterable<string>
}
