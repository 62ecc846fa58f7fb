import { assert } from '../../../contracts/errors/assert.ts'
import type { LeaseHolder } from '../../../contracts/events/lease-events.ts'
import type { Lease } from './leased-work.ts'

/** A process's renewal, with its claim to shards. */
export interface LeaseClaim {
  readonly holder: string
  readonly shards: number
  readonly ttlMs: number | null
  /** Revision that the event of this claim will have. */
  readonly revision: number
  /** Others whose time is over. */
  readonly silent: ReadonlySet<string>
  /** Own shards on which the work has stopped, so that others may have them. */
  readonly stopped: ReadonlySet<number>
}

export interface LeaseDecision {
  /** Everybody's part from now on. */
  readonly table: readonly LeaseHolder[]
  /** Shards that nobody had and the claimant has now. */
  readonly gained: readonly Lease[]
  /** Own shards beyond a fair share: the work on them is to be stopped, and then they are given back. */
  readonly surplus: readonly number[]
}

/**
 * The share of a process after its renewal: its former share, less the shards that it gives back, and of the shards that
 * nobody has as many as make up its fair share. Shards of the silent are nobody's.
 */
export function decideLease(before: readonly LeaseHolder[], claim: LeaseClaim): LeaseDecision {
  const others = before.filter(({ holder }) => holder !== claim.holder && !claim.silent.has(holder))
  const own = before.find(({ holder }) => holder === claim.holder)?.shards ?? []
  const kept = own.filter(({ shard }) => shard < claim.shards && !claim.stopped.has(shard))
  const fairShare = Math.ceil(claim.shards / (others.length + 1))

  const ofOthers = new Set(others.flatMap(({ shards }) => shards).map(({ shard }) => shard))
  const taken = new Set([...ofOthers, ...kept.map(({ shard }) => shard)])
  const free = Array.from({ length: claim.shards }, (_, shard) => shard).filter((shard) => !taken.has(shard))
  const gained = free
    .slice(0, Math.max(0, fairShare - kept.length))
    .map((shard) => ({ shard, token: claim.revision }))

  const part: LeaseHolder = {
    holder: claim.holder,
    renewedBy: claim.revision,
    ttlMs: claim.ttlMs,
    shards: [...kept, ...gained].toSorted((a, b) => a.shard - b.shard),
  }
  assert(
    part.shards.every(({ shard }) => shard < claim.shards && !ofOthers.has(shard)),
    'a shard has one holder',
    claim.holder,
  )
  assert(
    gained.length === 0 || part.shards.length <= fairShare,
    'nobody takes more than a fair share',
    gained.length,
  )
  return { table: [...others, part], gained, surplus: kept.slice(fairShare).map(({ shard }) => shard) }
}

/**
 * Whether a claim would change anything: not where every shard is held by somebody present with no more than a fair
 * share. So of eight processes that wait for one shard, seven write nothing.
 */
export function needsRenewal(
  before: readonly LeaseHolder[],
  { holder, shards, silent }: Pick<LeaseClaim, 'holder' | 'shards' | 'silent'>,
): boolean {
  if (before.some((part) => part.holder === holder && part.shards.length > 0)) return true
  const present = before.filter((part) => part.holder !== holder && !silent.has(part.holder))
  const held = present.flatMap((part) => part.shards).filter(({ shard }) => shard < shards)
  const fairShare = Math.ceil(shards / (present.length + 1))
  return held.length < shards || present.some((part) => part.shards.length > fairShare)
}
