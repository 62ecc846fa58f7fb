import type { Subscription } from '../../../projections/index.ts'
import type { Origin, Owner, OwnerAccounts } from './owner-accounts.ts'

/** What of a subscription nobody may read in the log. */
export interface OpenedSubscription {
  readonly url: string
  /** Newest first, each with the instant until which it signs; null for the newest. */
  readonly secrets: readonly { readonly secret: string; readonly signsUntil: number | null }[]
}

const urlPurpose = (subscriptionId: string): string => `url of ${subscriptionId}`
const secretPurpose = (subscriptionId: string): string => `secret of ${subscriptionId}`

export const sealUrl = (
  owners: OwnerAccounts,
  subscriptionId: string,
  owner: string,
  url: string,
  origin: Origin,
) => owners.sealFor(owner, urlPurpose(subscriptionId), url, origin)

export const sealSecret = (
  owners: OwnerAccounts,
  subscriptionId: string,
  owner: string,
  secret: string,
  origin: Origin,
) => owners.sealFor(owner, secretPurpose(subscriptionId), secret, origin)

type Sealed = Pick<Subscription, 'subscriptionId' | 'accountId' | 'generation' | 'sealedUrl'>

/** @throws ServiceError `account_unknown` where the account was erased */
export async function openUrl(owners: OwnerAccounts, subscription: Sealed): Promise<string> {
  const { subscriptionId, sealedUrl } = subscription
  const [url = ''] = await owners.unsealFor(ownerOf(subscription), [
    { purpose: urlPurpose(subscriptionId), sealed: sealedUrl },
  ])
  return url
}

/**
 * The address and all secrets, unsealed.
 *
 * @throws ServiceError `account_unknown` where the account was erased
 */
export async function openSubscription(
  owners: OwnerAccounts,
  subscription: Sealed & Pick<Subscription, 'secrets'>,
): Promise<OpenedSubscription> {
  const { subscriptionId, sealedUrl, secrets } = subscription
  const [url = '', ...opened] = await owners.unsealFor(ownerOf(subscription), [
    { purpose: urlPurpose(subscriptionId), sealed: sealedUrl },
    // All are of the account between two erasures, as the subscription itself is.
    ...secrets.map(({ sealed }) => ({ purpose: secretPurpose(subscriptionId), sealed })),
  ])
  return {
    url,
    secrets: secrets.map(({ signsUntil }, index) => ({ secret: opened[index] ?? '', signsUntil })),
  }
}

const ownerOf = ({ accountId, generation }: Sealed): Owner => ({ accountId, generation })

/** The secrets that sign at an instant, newest first. */
export const signingAt = ({ secrets }: OpenedSubscription, now: number): readonly string[] =>
  secrets.flatMap(({ secret, signsUntil }) => (signsUntil === null || signsUntil > now ? [secret] : []))
