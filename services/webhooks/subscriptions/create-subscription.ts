import { AS_IT_COMES } from '../../../contracts/domain/subscription.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import type { Origin } from '../../../contracts/infra/event.ts'
import { type FilterRequest, readFilter, readSending, type SendingRequest } from './filter-request.ts'
import { resolveStart } from './find-position.ts'
import { type SubscriptionView, viewOf } from './read-subscription.ts'
import type { SubscriptionDeps } from './subscription-deps.ts'
import { createSecret, seal } from './subscription-secrets.ts'
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

/**
 * Creates a subscription: its slot in the account's stream first, which decides whether there is room, then itself.
 *
 * @throws ServiceError `invalid_request`, `url_refused`, `limit_reached`, `account_unknown`; of the store
 */
export async function createSubscription(
  deps: SubscriptionDeps,
  accountId: string,
  request: CreateRequest,
  origin: Origin,
): Promise<CreatedSubscription> {
  const { log, newId } = deps
  const filter = readFilter(request)
  const subscriptionId = newId()
  await deps.checkUrl(request.url)
  await deps.takeUnasked('creation', accountId, request.url)
  const startAfter = await resolveStart(deps.store, 'start', request.start, deps.now())
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
  if (!(await log.begin(subscriptionId, origin, { type: 'SubscriptionCreated', data }, newId()))) {
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
    if (!isServiceError(error, 'limit_reached')) throw error
    if ((await tidySlots(deps, owner.accountId, origin)) === 0) throw error
    await deps.owners.takeSlot(owner, subscriptionId, origin)
  }
}
