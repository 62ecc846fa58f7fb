import { setImmediate } from 'node:timers/promises'
import type { OwnerAccounts } from '../../../contracts/domain/owner-accounts.ts'
import type { Tier } from '../../../contracts/domain/plans.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import type { Position } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Projector } from '../../log/projector/projector.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import type { WantedDigest } from '../digests/digest-recorder.ts'
import type { SubscriptionDirectory } from '../dispatch/dispatcher-options.ts'
import type { Subscription } from '../state/subscription-state.ts'
import {
  SUBSCRIPTION_PREFIX,
  type SubscriptionsRow,
  subscriptions as subscriptionsProjection,
  WANTED_DIGEST_PREFIX,
} from '../state/subscriptions-read-model.ts'
import { type OpenedSubscription, openSubscription, signingAt } from './subscription-secrets.ts'

export type SubscriptionIndex = ReturnType<typeof createSubscriptionIndex>

/** Exchanges, times timeframes, times cadences, and room for more. */
const MOST_DIGESTS = 1_000

/**
 * All subscriptions that are not removed, as the read model has them.
 *
 * @param projector one that runs the projection `subscriptions`
 */
export function createSubscriptionIndex(projector: Pick<Projector, 'reader'>) {
  const reader = projector.reader<SubscriptionsRow>(subscriptionsProjection)
  return {
    /** Position that the read model has reached; undefined while it does not follow the log. */
    position(): Position | undefined {
      const { state, position } = reader.health()
      return state === 'live' ? position : undefined
    },
    /** In the order of their ids, after the given one. */
    page({ after, limit }: { readonly after?: string | undefined; readonly limit: number }): Subscription[] {
      const from = after === undefined ? {} : { after: `${SUBSCRIPTION_PREFIX}${after}` }
      return reader
        .range({ prefix: SUBSCRIPTION_PREFIX, ...from, limit })
        .flatMap(({ row }) => (row.kind === 'subscription' ? [row.subscription] : []))
    },
    /** The digests that subscriptions ask for as they are now; few rows, however many subscriptions there are. */
    wantedDigests: (): WantedDigest[] =>
      reader
        .range({ prefix: WANTED_DIGEST_PREFIX, limit: MOST_DIGESTS })
        .flatMap(({ row }) => (row.kind === 'digest' ? [row] : [])),
  }
}

/** Every subscription of the index. */
function* pagesOf(index: SubscriptionIndex): Generator<readonly Subscription[], void, void> {
  let after: string | undefined
  do {
    const page = index.page({ after, limit: LIMITS.rowsPerPage })
    yield page
    after = page.length < LIMITS.rowsPerPage ? undefined : page.at(-1)?.subscriptionId
  } while (after !== undefined)
}

interface Opened extends OpenedSubscription {
  readonly tier: Tier
  readonly countedAs: string
}

export interface SubscriptionDirectoryOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly index: SubscriptionIndex
  readonly owners: Pick<OwnerAccounts, 'openFor' | 'standing'>
  /** Ends waiting for a read model that does not follow the log yet. */
  readonly signal: AbortSignal
}

const FOLLOW_MS = 50

/**
 * The subscriptions for the dispatcher. Addresses and secrets are unsealed for a moment only, since nobody may
 * read them once their account is erased; each change of a subscription makes it look again.
 *
 * @example const directory = createSubscriptionDirectory({ index, owners, now: Date.now, sleep, signal })
 */
export function createSubscriptionDirectory(options: SubscriptionDirectoryOptions): SubscriptionDirectory {
  const { index, owners, now, sleep, signal } = options
  const memory = new RecentMap<string, { readonly revision: number; readonly opened: Opened }>(
    LIMITS.webhookTargetsKept,
    { ttlMs: LIMITS.webhookTargetMs, now },
  )

  async function open(subscription: Subscription): Promise<Opened | undefined> {
    const { subscriptionId, revision } = subscription
    try {
      const opened = {
        ...(await openSubscription(owners, subscription)),
        ...(await owners.standing(subscription.accountId)),
      }
      memory.set(subscriptionId, { revision, opened })
      return opened
    } catch (error) {
      memory.delete(subscriptionId)
      if (isServiceError(error, 'account_unknown')) return undefined
      throw error
    }
  }

  const targetOf = (opened: Opened) => ({
    url: opened.url,
    tier: opened.tier,
    countedAs: opened.countedAs,
    secrets: signingAt(opened, now()),
    sealAnswer: opened.sealAnswer,
  })

  return {
    async all() {
      let position = index.position()
      while (position === undefined && !signal.aborted) {
        await sleep(FOLLOW_MS, signal)
        position = index.position()
      }
      if (position === undefined) throw new ServiceError('shutting_down')
      // The position is of before the rows: what came in between is seen twice, which does nothing.
      const subscriptions: Subscription[] = []
      for (const page of pagesOf(index)) {
        for (const subscription of page) subscriptions.push(subscription)
        await setImmediate()
      }
      return { position, subscriptions }
    },
    target(subscription) {
      const known = memory.get(subscription.subscriptionId)
      if (known?.revision === subscription.revision) return targetOf(known.opened)
      return open(subscription).then((opened) => opened && targetOf(opened))
    },
  }
}
