import type { Subscription } from '../../../projections/index.ts'
import type { DispatcherHealth, SubscriptionDirectory } from './dispatcher-options.ts'
import type { EndpointRegistry } from './endpoint-registry.ts'

/** Compares the subscriptions of the shards that this process holds with the endpoints that it works on. */
export interface Attendance {
  /** Compares now and then, and soon where one was asked for; what nobody works on is opened. */
  tend(): Promise<void>
  /** Something was closed that may be ours all the same. */
  doubt(): void
  /** Subscriptions of held shards that are not worked on, and for how long the first. */
  unattended(): Pick<DispatcherHealth, 'unattended' | 'unattendedMs'>
}

/** Every subscription is looked through for it. */
const COMPARE_MS = 30_000

/**
 * Whatever takes an endpoint off this process while its shard stays here, nobody else sends to it. So what is to be
 * sent to is taken from the directory, which knows nothing of what is being done, and what is missing is opened again.
 */
export function createAttendance(options: {
  readonly registry: EndpointRegistry
  readonly directory: Pick<SubscriptionDirectory, 'all'>
  readonly open: (subscription: Subscription) => void
  /** A clock that is never set, milliseconds. */
  readonly elapsed: () => number
}): Attendance {
  const { registry, directory, open, elapsed } = options
  let missing = new Map<string, number>()
  let comparedAt = elapsed()
  let isInDoubt = false
  let isComparing = false

  const isHeld = (id: string): boolean => registry.shard(registry.shardOf(id)) !== undefined
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
    doubt: () => void (isInDoubt = true),
    async tend() {
      if (isComparing || !(isInDoubt || elapsed() - comparedAt >= COMPARE_MS)) return
      isComparing = true
      isInDoubt = false
      comparedAt = elapsed()
      await compare().finally(() => {
        isComparing = false
      })
    },
    unattended() {
      const since = [...missing].flatMap(([id, at]) => (isHeld(id) && !isAttended(id) ? [at] : []))
      const unattendedMs = since.length === 0 ? 0 : elapsed() - since.reduce((a, b) => Math.min(a, b))
      return { unattended: since.length, unattendedMs }
    },
  }
}
