import { createHash } from 'node:crypto'
import type { Lease } from '../../log/lease/leases.ts'
import type { ShardHealth } from './dispatcher-options.ts'
import type { Endpoint } from './endpoint.ts'

/** A shard that this process has. */
export interface HeldShard extends Lease {
  /** Ends its attempts that take too long when it is given up. */
  readonly cutOff: AbortController
  readonly endpoints: Set<Endpoint>
}

/** The endpoints this process sends to, by subscription and by shard. */
export interface EndpointRegistry {
  get(subscriptionId: string): Endpoint | undefined
  add(endpoint: Endpoint): void
  remove(endpoint: Endpoint): void
  shardOf(subscriptionId: string): number
  shard(shard: number): HeldShard | undefined
  shards(): Iterable<HeldShard>
  open(lease: Lease): HeldShard
  close(shard: number): void
  all(): Iterable<Endpoint>
}

export function createEndpointRegistry(shardCount: number): EndpointRegistry {
  const endpoints = new Map<string, Endpoint>()
  const shards = new Map<number, HeldShard>()
  return {
    get: (subscriptionId) => endpoints.get(subscriptionId),
    add(endpoint) {
      endpoints.set(endpoint.id, endpoint)
      shards.get(endpoint.shard)?.endpoints.add(endpoint)
    },
    remove(endpoint) {
      if (endpoints.get(endpoint.id) === endpoint) endpoints.delete(endpoint.id)
      shards.get(endpoint.shard)?.endpoints.delete(endpoint)
    },
    shardOf: (subscriptionId) => shardOf(subscriptionId, shardCount),
    shard: (shard) => shards.get(shard),
    shards: () => shards.values(),
    open(lease) {
      const held = { ...lease, cutOff: new AbortController(), endpoints: new Set<Endpoint>() }
      shards.set(lease.shard, held)
      return held
    },
    close: (shard) => void shards.delete(shard),
    all: () => endpoints.values(),
  }
}

/**
 * Which shard a subscription belongs to: the same in every process and release, since several share the shards.
 *
 * @example shardOf('019abcde-7c00-7001-8000-00000000000a', 16) // 0 to 15
 */
export const shardOf = (subscriptionId: string, shards: number): number =>
  createHash('sha256').update(subscriptionId).digest().readUInt32BE(0) % shards

/** An endpoint that is behind for longer is told of. */
const LONG_BEHIND_MS = 60_000

/** @param nowMs of a clock that is never set */
export function countLongBehind(endpoints: Iterable<Endpoint>, nowMs: number): number {
  let count = 0
  for (const { state } of endpoints) {
    const isBehind = state.subscription.state === 'active' && state.behindSinceMs !== undefined
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
