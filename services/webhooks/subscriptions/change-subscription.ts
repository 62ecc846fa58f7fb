import type { Origin } from '../../../contracts/infra/event.ts'
import { comparePositions } from '../../../contracts/infra/position.ts'
import type { Subscription } from '../state/subscription-state.ts'
import {
  decideSubscription,
  type SubscriptionCommand,
  unknownSubscriptionError,
} from './decide-subscription.ts'
import { changeFilter, type FilterChange, readSending, type SendingRequest } from './filter-request.ts'
import { resolveStart } from './find-position.ts'
import { findOwn, type SubscriptionView, viewOf } from './read-subscription.ts'
import type { SubscriptionDeps } from './subscription-deps.ts'
import { createSecret, openUrl, seal } from './subscription-secrets.ts'

/** Decides a command for the owner over the newest state. */
export async function executeFor(
  { log }: SubscriptionDeps,
  accountId: string,
  subscriptionId: string,
  origin: Origin,
  commandOf: (state: Subscription) => Promise<SubscriptionCommand> | SubscriptionCommand,
): Promise<Subscription> {
  const { after } = await log.execute(subscriptionId, origin, async (state) => {
    if (state === undefined || state.accountId !== accountId) throw unknownSubscriptionError(subscriptionId)
    return decideSubscription(state, await commandOf(state), state)
  })
  if (after === undefined) throw unknownSubscriptionError(subscriptionId)
  return after
}

/** Fields that are to be other ones; what is left out stays. */
export interface ChangeRequest extends FilterChange, SendingRequest {
  readonly url?: string | undefined
}

interface ResumeRequest {
  readonly from: 'cursor' | 'now' | 'since'
  /** A position or an instant; for `since`. */
  readonly since?: string | undefined
}

/** Changes by an owner. */
export function changing(deps: SubscriptionDeps) {
  const { owners, store, now } = deps
  return {
    /** @throws ServiceError `invalid_request`, `state_conflict`, `url_refused`, `rate_limited` */
    async change(
      accountId: string,
      id: string,
      { url, max_per_second, in_order, ...change }: ChangeRequest,
      origin: Origin,
    ): Promise<SubscriptionView> {
      const own = await findOwn(deps, accountId, id)
      const moved = await sealAddress(deps, own, url, origin)
      const command: SubscriptionCommand = {
        kind: 'Change',
        change: (filter) => changeFilter(filter, change),
        sealedUrl: moved?.sealed,
        sending: readSending({ max_per_second, in_order }),
      }
      const subscription = await executeFor(deps, accountId, id, origin, (state) => {
        if (moved !== undefined && moved.generation !== state.generation) throw unknownSubscriptionError(id)
        return command
      })
      return viewOf(deps, subscription)
    },
    /** @throws ServiceError `state_conflict` for one that is disabled or stopped */
    async pause(accountId: string, id: string, origin: Origin): Promise<SubscriptionView> {
      const command = { kind: 'Pause', reason: `paused by ${origin.actor}` } as const
      return viewOf(deps, await executeFor(deps, accountId, id, origin, () => command))
    },
    /** @throws ServiceError `invalid_request` for a malformed `since`; `state_conflict` */
    async resume(
      accountId: string,
      id: string,
      { from, since }: ResumeRequest,
      origin: Origin,
    ): Promise<SubscriptionView> {
      const { startAfter } = await findOwn(deps, accountId, id)
      const asked = from === 'cursor' ? null : await resolveStart(store, 'since', since ?? 'now', now())
      // It has no filter for what came before its start.
      const after = asked !== null && comparePositions(asked, startAfter) < 0 ? startAfter : asked
      const command = { kind: 'Resume', from, after } as const
      return viewOf(deps, await executeFor(deps, accountId, id, origin, () => command))
    },
    remove: (accountId: string, id: string, origin: Origin) => remove(deps, accountId, id, origin),
    /**
     * Answers the new secret, this one time, and until when the former ones sign beside it (Unix milliseconds).
     *
     * @throws ServiceError `state_conflict` where too many secrets sign
     */
    async rotateSecret(accountId: string, id: string, overlapMs: number, origin: Origin) {
      await findOwn(deps, accountId, id)
      const secret = createSecret(deps.random)
      const { generation, sealed } = await seal(
        owners,
        'secret',
        { subscriptionId: id, accountId },
        secret,
        origin,
      )
      const rotatedAt = now()
      const overlapUntil = rotatedAt + overlapMs
      await executeFor(deps, accountId, id, origin, (state) => {
        if (state.generation !== generation) throw unknownSubscriptionError(id)
        return { kind: 'RotateSecret', generation, sealedSecret: sealed, overlapUntil, now: rotatedAt }
      })
      return { secret, overlapUntil }
    },
  }
}

/** Another address, checked as at a creation, and sealed; undefined where none is given, or the one that it has. */
async function sealAddress(
  deps: SubscriptionDeps,
  own: Subscription,
  url: string | undefined,
  origin: Origin,
) {
  if (url === undefined || url === (await openUrl(deps.owners, own))) return undefined
  await deps.checkUrl(url)
  await deps.takeUnasked('creation', own.accountId, url)
  return seal(deps.owners, 'url', own, url, origin)
}

/**
 * The process that sends reads it in the log within a second: until then a POST may still begin.
 */
async function remove(deps: SubscriptionDeps, accountId: string, id: string, origin: Origin): Promise<void> {
  const { log, owners } = deps
  const before = await log.load(id)
  if (before === undefined || before.accountId !== accountId) throw unknownSubscriptionError(id)
  const isRepeat = before.state === 'removed'
  if (!isRepeat) {
    const command = { kind: 'Remove', reason: `removed by ${origin.actor}` } as const
    await executeFor(deps, accountId, id, origin, () => command)
  }
  // Also for a repeat: the first may have come no further than the removal.
  await owners.freeSlot(accountId, id, origin)
  if (isRepeat) throw unknownSubscriptionError(id)
}
