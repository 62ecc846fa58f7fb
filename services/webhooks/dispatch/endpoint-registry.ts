import { createHash } from 'node:crypto'
import type { Lease } from '../../log/leases/leases.ts'
import type { ShardHealth } from './dispatcher-options.ts'
import type { Endpoint } from './endpoint.ts'

/** A shard that this process has. */
export interface HeldShard extends Lease {
  /** Ends its attempts that take too long when it is given up. */
  readonly cutOff: AbortController
  readonly endpoints: Set<Endpoint>
}

export type EndpointRegistry = ReturnType<typeof createEndpointRegistry>

/** The endpoints this process sends to, by subscription and by shard. */
export function createEndpointRegistry(shardCount: number) {
  const endpoints = new Map<string, Endpoint>()
  const shards = new Map<number, HeldShard>()
  return {
    get: (subscriptionId: string): Endpoint | undefined => endpoints.get(subscriptionId),
    add(endpoint: Endpoint): void {
      endpoints.set(endpoint.id, endpoint)
      shards.get(endpoint.shard)?.endpoints.add(endpoint)
    },
    remove(endpoint: Endpoint): void {
      if (endpoints.get(endpoint.id) === endpoint) endpoints.delete(endpoint.id)
      shards.get(endpoint.shard)?.endpoints.delete(endpoint)
    },
    shardOf: (subscriptionId: string): number => shardOf(subscriptionId, shardCount),
    shard: (shard: number): HeldShard | undefined => shards.get(shard),
    /** The shard of a subscription, while this process holds it. */
    heldFor: (subscriptionId: string) => shards.get(shardOf(subscriptionId, shardCount)),
    shards: (): Iterable<HeldShard> => shards.values(),
    open(lease: Lease): HeldShard {
      const held = { ...lease, cutOff: new AbortController(), endpoints: new Set<Endpoint>() }
      shards.set(lease.shard, held)
      return held
    },
    close: (shard: number): void => void shards.delete(shard),
    all: (): Iterable<Endpoint> => endpoints.values(),
  }
}

/**
 * Which shard a subscription belongs to: the same in every process and release, since several share the shards.
 *
 * @example shardOf('019abcde-7c00-7001-8000-00000000000a', 16) // 0 to 15
 */
export const shardOf = (subscriptionId: string, shards: number): number =>
  createHash('sha256').update(subscriptionId).digest().readUInt32BE(0) % shards

/** An endpoint that is behind for longer counts as long behind. */
const LONG_BEHIND_MS = 60_000

/** @param nowMs monotonic clock, milliseconds */
export function countLongBehind(endpoints: Iterable<Endpoint>, nowMs: number): number {
  let count = 0
  for (const { state } of endpoints) {
    // One that has to wait is behind by a limit.
    const isGoing = state.subscription.state === 'active' && state.restsUntilMs === undefined
    const isBehind = isGoing && state.behindSinceMs !== undefined
    if (isBehind && nowMs - state.behindSinceMs > LONG_BEHIND_MS) count += 1
  }
  return count
}

/** How the endpoints of a shard stand. */
export function shardHealth({ shard, endpoints }: HeldShard): ShardHealth {
  const count = { behind: 0, degraded: 0, disabled: 0, openRetries: 0, queued: 0 }
  for (const { state, deliveries, queued } of endpoints) {
    const told = state.subscription.state
    if (state.source === 'behind' && told === 'active') count.behind += 1
    if (told === 'degraded') count.degraded += 1
    if (told === 'disabled') count.disabled += 1
    count.openRetries += deliveries?.open.size ?? 0
    count.queued += queued
  }
  return { shard, subscriptions: endpoints.size, ...count }
}
