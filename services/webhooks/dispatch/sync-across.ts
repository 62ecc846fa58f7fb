import { isServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Bus } from '../../platform/bus/bus.ts'

/** Requests about the subscriptions of a shard, answered by the process that has it. */
const subjectOf = (shard: number): string => `webhooks.refresh.${shard}`

/**
 * Asks the process that sends for a subscription to look at its stream before it begins anything more.
 *
 * @returns whether it has; false where nobody answered in time
 */
export async function askToSync(bus: Bus, shard: number, subscriptionId: string): Promise<boolean> {
  try {
    const timeoutMs = LIMITS.webhookForgetMs
    return (await bus.request(subjectOf(shard), { subscriptionId }, { timeoutMs })) === true
  } catch (error) {
    if (isServiceError(error)) return false
    throw error
  }
}

/** Answers such requests for a shard, for as long as this process has it. */
export function serveSync(
  bus: Bus,
  shard: number,
  sync: (subscriptionId: string) => Promise<void>,
  signal: AbortSignal,
): void {
  bus.serve(
    subjectOf(shard),
    async (body) => {
      const isAsked = typeof body === 'object' && body !== null && 'subscriptionId' in body
      if (!isAsked || typeof body.subscriptionId !== 'string') return false
      await sync(body.subscriptionId)
      return true
    },
    { signal },
  )
}
