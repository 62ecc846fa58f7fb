import type { OwnerAccounts, Subject } from '../../../contracts/domain/owner-accounts.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import type { AttemptDetail } from '../../../contracts/events/delivery-events.ts'
import type { Origin } from '../../../contracts/infra/event.ts'
import type { Subscription } from '../state/subscription-state.ts'

const SECRET_BYTES = 32

/**
 * A new signing secret: `whsec_` and base64, as Standard Webhooks writes them.
 *
 * @param random unpredictable bytes
 * @example createSecret(randomBytes).startsWith('whsec_')
 */
export const createSecret = (random: (bytes: number) => Uint8Array): string =>
  `whsec_${Buffer.from(random(SECRET_BYTES)).toString('base64')}`

/** The sealed parts of a subscription, opened. */
export interface OpenedSubscription {
  readonly url: string
  /** Newest first, each with the instant until which it signs; null for the newest. */
  readonly secrets: readonly { readonly secret: string; readonly signsUntil: number | null }[]
  /** Seals what its endpoint answered. */
  readonly sealAnswer: (text: string) => string
}

const urlPurpose = (subscriptionId: string): string => `url of ${subscriptionId}`
const answerPurpose = (subscriptionId: string): string => `answer to ${subscriptionId}`
const secretPurpose = (subscriptionId: string): string => `secret of ${subscriptionId}`

/** Seals an address or a secret for the owner's account. */
export const seal = (
  owners: OwnerAccounts,
  what: 'url' | 'secret',
  { subscriptionId, accountId }: { readonly subscriptionId: string; readonly accountId: string },
  text: string,
  origin: Origin,
) => owners.sealFor(accountId, (what === 'url' ? urlPurpose : secretPurpose)(subscriptionId), text, origin)

type Sealed = Pick<Subscription, 'subscriptionId' | 'accountId' | 'generation' | 'sealedUrl'>

/** @throws ServiceError `account_unknown` where the account was erased */
export async function openUrl(
  owners: Pick<OwnerAccounts, 'unsealFor'>,
  subscription: Sealed,
): Promise<string> {
  const { subscriptionId, sealedUrl } = subscription
  const [url] = await owners.unsealFor(ownerOf(subscription), [
    { purpose: urlPurpose(subscriptionId), sealed: sealedUrl },
  ])
  assert(url !== undefined && url !== '', 'a sealed address opens')
  return url
}

/**
 * The address and all secrets, unsealed.
 *
 * @throws ServiceError `account_unknown` where the account was erased
 */
export async function openSubscription(
  owners: Pick<OwnerAccounts, 'openFor'>,
  subscription: Sealed & Pick<Subscription, 'secrets'>,
): Promise<OpenedSubscription> {
  const { subscriptionId, sealedUrl, secrets } = subscription
  const { texts, seal: sealText } = await owners.openFor(ownerOf(subscription), [
    { purpose: urlPurpose(subscriptionId), sealed: sealedUrl },
    // All are of the account between two erasures, as the subscription itself is.
    ...secrets.map(({ sealed }) => ({ purpose: secretPurpose(subscriptionId), sealed })),
  ])
  const [url, ...opened] = texts
  assert(url !== undefined && url !== '', 'an endpoint has an address')
  assert(opened.length === secrets.length, 'every sealed secret opens', opened.length)
  return {
    url,
    sealAnswer: (text) => sealText(answerPurpose(subscriptionId), text),
    secrets: secrets.map(({ signsUntil }, index) => ({ secret: opened[index] ?? '', signsUntil })),
  }
}

/**
 * Unseals the answers of endpoints, in the given order.
 *
 * @throws ServiceError `account_unknown` where the account was erased
 */
export async function openAnswers(
  owners: Pick<OwnerAccounts, 'unsealFor'>,
  subscription: Sealed,
  details: readonly (AttemptDetail | null)[],
): Promise<readonly (string | null)[]> {
  const sealed = details.flatMap((detail) => (detail === null ? [] : [detail.sealed]))
  if (sealed.length === 0) return details.map(() => null)
  const purpose = answerPurpose(subscription.subscriptionId)
  const texts = await owners.unsealFor(
    ownerOf(subscription),
    sealed.map((one) => ({ purpose, sealed: one })),
  )
  const opened = texts.values()
  return details.map((detail) => (detail === null ? null : (opened.next().value ?? null)))
}

const ownerOf = ({ accountId, generation }: Sealed): Subject => ({ accountId, generation })

/** The secrets that sign at an instant, newest first. */
export const signingAt = ({ secrets }: OpenedSubscription, now: number): readonly string[] =>
  secrets.flatMap(({ secret, signsUntil }) => (signsUntil === null || signsUntil > now ? [secret] : []))
