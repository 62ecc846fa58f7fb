import type { OwnerAccounts } from '../../../contracts/domain/owner-accounts.ts'
import type { LogUse } from '../../log/append-with-retry.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'
import type { Sender } from '../sending/sender.ts'
import type { Sign } from '../sending/sign.ts'
import type { SignalCoverage } from './filter-warnings.ts'
import type { KnownDeliveries } from './known-deliveries.ts'
import type { SubscriptionIndex } from './subscription-directory.ts'
import type { SubscriptionLog } from './subscription-log.ts'

export interface SubscriptionsOptions extends LogUse {
  readonly store: EventStore
  readonly owners: OwnerAccounts
  /** Undefined where this process keeps no read models: the operator sees no list then. */
  readonly index: SubscriptionIndex | undefined
  readonly idOf: FactId
  /** Unpredictable bytes. */
  readonly random: (bytes: number) => Uint8Array
  /**
   * Checks an address when it is given.
   *
   * @throws ServiceError `url_refused`
   */
  readonly checkUrl: (url: string) => Promise<unknown>
  readonly sender: Pick<Sender, 'send'>
  readonly sign: Sign
  /**
   * Counts what is sent, or may be, to an endpoint that did not ask for it: a test, or a new subscription. By account
   * and by host, so that neither many subscriptions nor many accounts make more of it.
   *
   * @throws ServiceError `rate_limited`
   */
  readonly takeUnasked: (what: 'test' | 'creation', accountId: string, url: string) => Promise<void>
  /**
   * Mails the owner of an account, where it has an address.
   *
   * @throws ServiceError `rate_limited` where the account's hour or the mail server takes no more; of the store
   */
  readonly mailOwner: (
    accountId: string,
    mail: { readonly id: string; readonly subject: string; readonly text: string },
  ) => Promise<void>
  readonly coverage: () => SignalCoverage
  /** Public address of this service, without a slash at its end. */
  readonly baseUrl: () => string
  /** Told what the operator should know; without addresses and secrets. */
  readonly report: (event: string, details: Readonly<Record<string, string>>) => void
}

/** The dependencies of the operations on subscriptions. */
export interface SubscriptionDeps extends SubscriptionsOptions {
  readonly log: SubscriptionLog
  /** The delivery states so far. */
  readonly deliveries: KnownDeliveries
}
