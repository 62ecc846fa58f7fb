import { assert } from '../../../contracts/assert.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import type { Origin } from '../../../contracts/event.ts'
import { canonicalJson, type Json } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { AS_IT_COMES } from '../../../contracts/subscription.ts'
import { type FilterRequest, readFilter, readSending, type SendingRequest } from './filter-request.ts'
import { resolveStart } from './find-position.ts'
import { type SubscriptionView, viewOf } from './read-subscription.ts'
import type { SubscriptionDeps } from './subscription-deps.ts'
import { createSecret, openSubscription, seal } from './subscription-secrets.ts'
import { tidySlots } from './tidy-slots.ts'

export interface CreateRequest extends FilterRequest, SendingRequest {
  readonly url: string
  /** `now`, a position of the log, or an instant of ISO 8601. */
  readonly start: string
}

/** A subscription and its secret. */
export interface CreatedSubscription extends SubscriptionView {
  readonly secret: string
}

const VISIBLE_ASCII = new RegExp(`^[!-~]{1,${LIMITS.idempotencyKeyCharacters}}$`)

/**
 * Creates a subscription: its slot in the account's stream first, which decides whether there is room, then itself.
 *
 * With an Idempotency-Key its id follows from the key and the id of its first event from the request, so that a
 * repeat finds the first one's subscription and answers it, with the secret: a caller who lost the answer could do
 * nothing without it, and the owner of the API key could rotate it at any time.
 *
 * @throws ServiceError `invalid_request`, `url_refused`, `too_many_subscriptions`, `idempotency_mismatch`,
 *   `account_unknown`; of the store
 */
export async function createSubscription(
  deps: SubscriptionDeps,
  accountId: string,
  request: CreateRequest,
  idempotencyKey: string | undefined,
  origin: Origin,
): Promise<CreatedSubscription> {
  const { log, newId } = deps
  const filter = readFilter(request)
  const ids = idempotencyKey === undefined ? undefined : idsOf(deps, accountId, request, idempotencyKey)
  const before = ids && (await repeated(deps, ids))
  if (before !== undefined) return before
  const { subscriptionId, eventId } = ids ?? { subscriptionId: newId(), eventId: newId() }
  await deps.checkUrl(request.url)
  await deps.takeUnasked('creation', accountId, request.url)
  const startAfter = await resolveStart(deps.looking, 'start', request.start, deps.now())
  const secret = createSecret(deps.random)
  const about = { subscriptionId, accountId }
  const url = await seal(deps.owners, 'url', about, request.url, origin)
  const sealed = await seal(deps.owners, 'secret', about, secret, origin)
  if (url.generation !== sealed.generation) throw new ServiceError('account_unknown')
  const { generation } = sealed
  await takeSlot(deps, { accountId, generation }, subscriptionId, origin)
  const data = {
    subscriptionId,
    accountId,
    generation,
    filter,
    sending: { ...AS_IT_COMES, ...readSending(request) },
    startAfter,
    sealedUrl: url.sealed,
    sealedSecret: sealed.sealed,
  }
  if (!(await log.begin(subscriptionId, origin, { type: 'SubscriptionCreated', data }, eventId))) {
    const other = ids && (await repeated(deps, ids))
    if (other !== undefined) return other
    // Its slot was taken for one that a crash had left behind.
    throw new ServiceError('store_unavailable', {
      message: 'Creating the subscription took too long, and nothing was created; send the request again.',
      isForCallers: true,
    })
  }
  const subscription = await log.load(subscriptionId)
  assert(subscription !== undefined, 'what was created is there', subscriptionId)
  return { ...(await viewOf(deps, subscription)), secret }
}

/** Slots that crashes left behind are looked for when there is no room: before, nobody misses them. */
async function takeSlot(
  deps: SubscriptionDeps,
  owner: { readonly accountId: string; readonly generation: number },
  subscriptionId: string,
  origin: Origin,
): Promise<void> {
  try {
    await deps.owners.takeSlot(owner, subscriptionId, origin)
  } catch (error) {
    if (!isServiceError(error, 'too_many_subscriptions')) throw error
    if ((await tidySlots(deps, owner.accountId, origin)) === 0) throw error
    await deps.owners.takeSlot(owner, subscriptionId, origin)
  }
}

interface RequestIds {
  readonly subscriptionId: string
  readonly eventId: string
}

function idsOf(
  { idOf }: SubscriptionDeps,
  accountId: string,
  request: CreateRequest,
  key: string,
): RequestIds {
  if (!VISIBLE_ASCII.test(key)) {
    throw new ServiceError('invalid_request', {
      message: `Idempotency-Key: must be 1 to ${LIMITS.idempotencyKeyCharacters} visible ASCII characters, given once; it has ${key.length}`,
    })
  }
  const subscriptionId = idOf('subscription', accountId, key)
  // What is left out is not part of JSON.
  const asked = canonicalJson(JSON.parse(JSON.stringify(request)) as Json)
  return { subscriptionId, eventId: idOf('subscription created', subscriptionId, asked) }
}

/** The subscription that an earlier request with the same Idempotency-Key made; undefined without one. */
async function repeated(
  deps: SubscriptionDeps,
  { subscriptionId, eventId }: RequestIds,
): Promise<CreatedSubscription | undefined> {
  const begun = await deps.log.begins(subscriptionId)
  if (begun === undefined) return undefined
  const subscription = await deps.log.load(subscriptionId)
  if (subscription === undefined || subscription.state === 'removed') {
    throw new ServiceError('idempotency_mismatch', {
      message: `This Idempotency-Key was used for subscription ${subscriptionId}, which is removed; use a new key for a new one.`,
      details: { subscription_id: subscriptionId },
    })
  }
  if (begun.firstEventId !== eventId) {
    throw new ServiceError('idempotency_mismatch', { details: { subscription_id: subscriptionId } })
  }
  const { secrets } = await openSubscription(deps.owners, subscription)
  const [newest] = secrets
  assert(newest !== undefined, 'a subscription has a secret', subscriptionId)
  return { ...(await viewOf(deps, subscription)), secret: newest.secret }
}
