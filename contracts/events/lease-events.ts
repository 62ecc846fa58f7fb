import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import { defineEvent } from './event-definition.ts'

const stream = 'lease-{group}'
const name = z.string().min(1).max(LIMITS.leaseNameCharacters)
const shard = z
  .int()
  .min(0)
  .max(LIMITS.leaseShards - 1)
/** Revision of the event by which its holder gained the shard: a later holder has a higher one. */
const token = z.int().nonnegative()

/** One process's share of a group of work. */
export const leaseHolderSchema = z.object({
  holder: name,
  /** Revision of the event with which it last said that it is there. */
  renewedBy: z.int().nonnegative(),
  /** How long after that it may go on; it stops by itself then. Null for one that has no rivals. */
  ttlMs: z.int().positive().nullable(),
  shards: z.array(z.object({ shard, token })).max(LIMITS.leaseShards),
})
export type LeaseHolder = z.infer<typeof leaseHolderSchema>

const leaseTable = z.object({
  group: name,
  /** The process that appended this. */
  holder: name,
  /** Everybody's part, so that the newest event says it all. */
  table: z.array(leaseHolderSchema).max(LIMITS.leaseHolders),
})

export const LeaseTaken = defineEvent('LeaseTaken', stream, {
  summary: 'A process renewed its lease and reports its shards: it took free ones or released surplus ones.',
  data: leaseTable,
})

export const LeaseReleased = defineEvent('LeaseReleased', stream, {
  summary: 'A process that shuts down gave back its part of the shared work.',
  data: leaseTable,
})
