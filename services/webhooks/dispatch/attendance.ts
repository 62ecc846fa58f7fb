import type { Subscription } from '../state/subscription-state.ts'
import type { DispatcherHealth, SubscriptionDirectory } from './dispatcher-options.ts'
import type { EndpointRegistry } from './endpoint-registry.ts'

/** Interval of the comparison, which reads every subscription. */
const COMPARE_MS = 30_000

/**
 * Compares the subscriptions of the held shards with the endpoints of this process. Nobody else sends to an endpoint
 * that closed here while its shard stayed here. So the directory, which does not depend on the endpoints, says what
 * should be open, and missing endpoints are opened again.
 */
export function createAttendance(options: {
  readonly registry: EndpointRegistry
  readonly directory: Pick<SubscriptionDirectory, 'all'>
  readonly open: (subscription: Subscription) => void
  /** Monotonic clock, milliseconds. */
  readonly elapsed: () => number
}) {
  const { registry, directory, open, elapsed } = options
  let missing = new Map<string, number>()
  let comparedAt = elapsed()
  let isInDoubt = false
  let isComparing = false

  const isHeld = (id: string): boolean => registry.heldFor(id) !== undefined
  const isAttended = (id: string): boolean => {
    const phase = registry.get(id)?.state.phase
    return phase === 'ready' || phase === 'draining'
  }

  async function compare(): Promise<void> {
    const { subscriptions } = await directory.all()
    const at = elapsed()
    const found = new Map<string, number>()
    for (const subscription of subscriptions) {
      const id = subscription.subscriptionId
      if (!isHeld(id) || isAttended(id)) continue
      found.set(id, missing.get(id) ?? at)
      open(subscription)
    }
    missing = found
  }

  return {
    /** Asks for a comparison soon: an endpoint closed that this process may still have to serve. */
    doubt: (): void => void (isInDoubt = true),
    /** Compares from time to time, or at once after a doubt. */
    async tend(): Promise<void> {
      if (isComparing || !(isInDoubt || elapsed() - comparedAt >= COMPARE_MS)) return
      isComparing = true
      isInDoubt = false
      comparedAt = elapsed()
      await compare().finally(() => {
        isComparing = false
      })
    },
    /** Subscriptions of held shards without a working endpoint, and how long the first has been without. */
    unattended(): Pick<DispatcherHealth, 'unattended' | 'unattendedMs'> {
      const since = [...missing].flatMap(([id, at]) => (isHeld(id) && !isAttended(id) ? [at] : []))
      const unattendedMs = since.length === 0 ? 0 : elapsed() - since.reduce((a, b) => Math.min(a, b))
      return { unattended: since.length, unattendedMs }
    },
  }
}
