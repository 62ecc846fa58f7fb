import { ServiceError } from '../../../contracts/errors.ts'
import type { Origin } from '../../../contracts/event.ts'
import { comparePositions } from '../../../contracts/position.ts'
import type { Subscription } from '../../../projections/index.ts'
import { decideSubscription, type SubscriptionCommand, unknownSubscription } from './decide-subscription.ts'
import { changeFilter } from './filter-request.ts'
import { resolveStart } from './find-position.ts'
import { findOwn, viewOf } from './read-subscription.ts'
import type { SubscriptionDeps } from './subscription-deps.ts'
import type { Subscriptions } from './subscription-operations.ts'
import { createSecret, sealSecret } from './subscription-secrets.ts'

/** Decides a command for the owner over the newest state. */
export async function executeFor(
  { log }: SubscriptionDeps,
  accountId: string,
  subscriptionId: string,
  origin: Origin,
  commandOf: (state: Subscription) => Promise<SubscriptionCommand> | SubscriptionCommand,
): Promise<Subscription> {
  const { after } = await log.execute(subscriptionId, origin, async (state) => {
    if (state === undefined || state.accountId !== accountId) throw unknownSubscription(subscriptionId)
    return decideSubscription(state, await commandOf(state), state)
  })
  if (after === undefined) throw unknownSubscription(subscriptionId)
  return after
}

/** What an owner changes. */
export function changing(
  deps: SubscriptionDeps,
): Pick<Subscriptions, 'change' | 'pause' | 'resume' | 'remove' | 'rotateSecret' | 'endOverlap'> {
  const { log, owners, looking, sync, now } = deps
  return {
    async change(accountId, id, change, origin) {
      const command: SubscriptionCommand = {
        kind: 'Change',
        change: (filter) => changeFilter(filter, change),
      }
      return viewOf(deps, await executeFor(deps, accountId, id, origin, () => command))
    },
    async pause(accountId, id, origin) {
      const command = { kind: 'Pause', reason: `paused by ${origin.actor}` } as const
      const subscription = await executeFor(deps, accountId, id, origin, () => command)
      await sync(id)
      return viewOf(deps, subscription)
    },
    async resume(accountId, id, { from, since }, origin) {
      const { startAfter } = await findOwn(deps, accountId, id)
      const asked = from === 'cursor' ? null : await resolveStart(looking, 'since', since ?? 'now', now())
      // It has no filter for what came before its start.
      const after = asked !== null && comparePositions(asked, startAfter) < 0 ? startAfter : asked
      const command = { kind: 'Resume', from, after } as const
      return viewOf(deps, await executeFor(deps, accountId, id, origin, () => command))
    },
    async remove(accountId, id, origin) {
      const before = await log.load(id)
      if (before === undefined || before.accountId !== accountId) throw unknownSubscription(id)
      const isRepeat = before.state === 'removed'
      if (!isRepeat) {
        const command = { kind: 'Remove', reason: `removed by ${origin.actor}` } as const
        await executeFor(deps, accountId, id, origin, () => command)
      }
      // Also for a repeat: the first may have come no further than the removal.
      await owners.freeSlot(accountId, id, origin)
      if (!(await sync(id))) {
        throw new ServiceError('store_unavailable', {
          message: `Subscription ${id} is removed; the process that sends for it has not confirmed that it stopped. It stops within seconds. Repeat the request to be sure.`,
          isForCallers: true,
        })
      }
      if (isRepeat) throw unknownSubscription(id)
    },
    async rotateSecret(accountId, id, overlapMs, origin) {
      await findOwn(deps, accountId, id)
      const secret = createSecret(deps.random)
      const { generation, sealed } = await sealSecret(owners, id, accountId, secret, origin)
      const overlapUntil = now() + overlapMs
      await executeFor(deps, accountId, id, origin, (state) => {
        if (state.generation !== generation) throw unknownSubscription(id)
        return { kind: 'RotateSecret', generation, sealedSecret: sealed, overlapUntil, now: now() }
      })
      // From here on what is sent is signed with it too, so that a receiver may change at once.
      await sync(id)
      return { secret, overlapUntil }
    },
    async endOverlap(accountId, id, origin) {
      const subscription = await executeFor(deps, accountId, id, origin, () => ({ kind: 'EndOverlap' }))
      await sync(id)
      return viewOf(deps, subscription)
    },
  }
}
