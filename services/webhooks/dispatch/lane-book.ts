import { createHash } from 'node:crypto'
import type { Lease } from '../../platform/lease/leases.ts'
import type { Lane } from './lane.ts'

/** A shard that this process has. */
export interface HeldShard extends Lease {
  /** Ends its attempts that take too long when it is given up. */
  readonly cutOff: AbortController
  readonly lanes: Set<Lane>
}

/** The endpoints this process sends to, by subscription and by shard. */
export interface LaneBook {
  readonly size: number
  get(subscriptionId: string): Lane | undefined
  add(lane: Lane): void
  remove(lane: Lane): void
  shardOf(subscriptionId: string): number
  shard(shard: number): HeldShard | undefined
  shards(): Iterable<HeldShard>
  open(lease: Lease): HeldShard
  close(shard: number): void
  all(): Iterable<Lane>
}

export function createLaneBook(shardCount: number): LaneBook {
  const lanes = new Map<string, Lane>()
  const shards = new Map<number, HeldShard>()
  return {
    get size() {
      return lanes.size
    },
    get: (subscriptionId) => lanes.get(subscriptionId),
    add(lane) {
      lanes.set(lane.subscription.subscriptionId, lane)
      shards.get(lane.shard)?.lanes.add(lane)
    },
    remove(lane) {
      if (lanes.get(lane.subscription.subscriptionId) === lane) lanes.delete(lane.subscription.subscriptionId)
      shards.get(lane.shard)?.lanes.delete(lane)
    },
    shardOf: (subscriptionId) => shardOf(subscriptionId, shardCount),
    shard: (shard) => shards.get(shard),
    shards: () => shards.values(),
    open(lease) {
      const held = { ...lease, cutOff: new AbortController(), lanes: new Set<Lane>() }
      shards.set(lease.shard, held)
      return held
    },
    close: (shard) => void shards.delete(shard),
    all: () => lanes.values(),
  }
}

/**
 * Which shard a subscription belongs to: the same in every process and release, since several share the shards.
 *
 * @example shardOf('019abcde-7c00-7001-8000-00000000000a', 16) // 0 to 15
 */
export const shardOf = (subscriptionId: string, shards: number): number =>
  createHash('sha256').update(subscriptionId).digest().readUInt32BE(0) % shards
