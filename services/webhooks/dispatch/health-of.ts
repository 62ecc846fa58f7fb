import type { Position } from '../../../contracts/position.ts'
import type { DispatcherHealth, ShardHealth } from './dispatcher-options.ts'
import type { HeldShard, LaneBook } from './lane-book.ts'

/** How a dispatcher stands, counted from what it has in hand. */
export function healthOf(parts: {
  readonly book: LaneBook
  readonly position: Position
  readonly attemptsUnderWay: number
  readonly trouble: string | undefined
}): DispatcherHealth {
  const { book, ...rest } = parts
  return { ...rest, shards: [...book.shards()].map(shardHealth).toSorted((a, b) => a.shard - b.shard) }
}

function shardHealth({ shard, lanes }: HeldShard): ShardHealth {
  const count = { behind: 0, degraded: 0, disabled: 0, openRetries: 0, queued: 0 }
  for (const { subscription, mode, queue, journal } of lanes) {
    const { state } = subscription
    if (mode === 'behind' && state === 'active') count.behind += 1
    if (state === 'degraded') count.degraded += 1
    if (state === 'disabled') count.disabled += 1
    count.openRetries += journal?.state.open.size ?? 0
    count.queued += queue.length
  }
  return { shard, subscriptions: lanes.size, ...count }
}
