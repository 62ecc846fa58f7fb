import type { SubscriptionSlot } from '../../../contracts/domain/owner-accounts.ts'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import type { Origin } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { SubscriptionDeps } from './subscription-deps.ts'

/**
 * Gives back a slot whose subscription is removed, or never came to be: a crash between the two leaves such a slot.
 * Of one that never came to be the stream is closed first, so that a creation that is only slow cannot end in a
 * subscription without a slot.
 *
 * @returns whether the slot is free now
 */
export async function tidySlot(
  { log, owners, now, newId }: SubscriptionDeps,
  accountId: string,
  { subscriptionId, takenAt }: SubscriptionSlot,
  origin: Origin,
): Promise<boolean> {
  const subscription = await log.load(subscriptionId)
  if (subscription !== undefined && subscription.state !== 'removed') return false
  if (subscription === undefined) {
    if (now() - takenAt < LIMITS.subscriptionSlotIdleMs) return false
    const reason = 'it was never created'
    await log.begin(
      subscriptionId,
      origin,
      { type: 'SubscriptionRemoved', data: { subscriptionId, reason } },
      newId(),
    )
    // Somebody may have been quicker, and created it after all.
    if ((await log.load(subscriptionId)) !== undefined) return false
  }
  await owners.freeSlot(accountId, subscriptionId, origin)
  return true
}

/** Tidies all slots of an account. @returns how many are free now */
export async function tidySlots(deps: SubscriptionDeps, accountId: string, origin: Origin): Promise<number> {
  const { current } = await deps.owners.slots(accountId)
  let freed = 0
  for (const slot of current) if (await tidySlot(deps, accountId, slot, origin)) freed += 1
  return freed
}

const ERASED = 'the account was erased'
const RETRY_MS = 1_000

/**
 * Removes the subscriptions of accounts that were erased, those of the past first: what was begun and not finished
 * is finished at the next start, since the slots stand until their subscriptions are gone. Ends with the signal.
 */
export async function removeOrphans(deps: SubscriptionDeps): Promise<void> {
  const { owners, sleep, signal, report } = deps
  for await (const accountId of owners.erasedAccounts()) {
    while (!signal.aborted) {
      try {
        await removeFormer(deps, accountId)
        break
      } catch (error) {
        if (!isServiceError(error) || !PASSING.has(error.code)) throw error
        report('removing subscriptions of an erased account has to wait', { reason: error.message })
        await sleep(RETRY_MS, signal)
      }
    }
    if (signal.aborted) return
  }
}

const PASSING: ReadonlySet<string> = new Set(['outcome_unknown', 'store_unavailable', 'store_full'])

/** Removes what an account had before it was erased. Its secrets cannot be opened any more either way. */
export async function removeFormer(
  { log, owners, newId }: SubscriptionDeps,
  accountId: string,
): Promise<void> {
  const origin = { correlationId: `erasure of ${accountId}`, actor: 'subscriptions' }
  const { former } = await owners.slots(accountId)
  for (const { subscriptionId } of former) {
    const removed = { type: 'SubscriptionRemoved', data: { subscriptionId, reason: ERASED } } as const
    await log.begin(subscriptionId, origin, removed, newId())
    await log.execute(subscriptionId, origin, (state) =>
      state === undefined || state.state === 'removed' ? [] : [removed],
    )
    await owners.freeSlot(accountId, subscriptionId, origin)
  }
}
