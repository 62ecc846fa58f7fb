import { assert } from '../../../contracts/errors/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'

/** An endpoint as it asks for slots. */
export interface SlotUser {
  readonly owner: string
  /** Origin of its address; undefined before that is known. */
  readonly host: string | undefined
  /** It fails, or takes long: such endpoints have half of all slots at most. */
  readonly isSlow: boolean
  /** Called when a slot may be free for it. */
  pump(): void
}

/** The right to make one attempt. */
export interface Slot {
  /** Its POST is over: the next one may begin. */
  sent(): void
  /** It is recorded, or given up. */
  ended(): void
}

/** Slots that some endpoints share. */
interface Group {
  readonly name: string
  readonly most: number
  used: number
  /** In the order in which they came. */
  readonly waiting: Set<SlotUser>
}

/** Attempts that wait to be recorded, beyond which nothing is begun: the log is too slow, or away. */
const MOST_UNRECORDED = 1_024

/**
 * Bounds the attempts of a process: all of them, those at slow endpoints, and those of each owner and of each host. One
 * that finds a group full waits in it, and is called in its turn.
 *
 * @example const slot = slots.take(endpoint); if (slot === undefined) return // endpoint.pump() is called later
 */
export function createSlots(most: number = LIMITS.webhookAttemptsAtOnce) {
  const groups = new Map<string, Group>()
  const perHost = Math.min(most / 4, LIMITS.webhookConnectionsPerOrigin)

  function groupOf(name: string, share: number): Group {
    const known = groups.get(name)
    if (known !== undefined) return known
    const group = { name, most: share, used: 0, waiting: new Set<SlotUser>() }
    groups.set(name, group)
    return group
  }

  function leave(left: readonly Group[]): void {
    for (const group of left) {
      group.used -= 1
      assert(group.used >= 0, 'a slot is given back once', group.name)
    }
    for (const group of left) {
      for (const user of group.waiting) {
        if (group.used >= group.most) break
        group.waiting.delete(user)
        user.pump()
      }
      if (group.used === 0 && group.waiting.size === 0) groups.delete(group.name)
    }
  }

  return {
    /** Takes a slot; undefined where there is none: then the endpoint waits. */
    take(user: SlotUser): Slot | undefined {
      const sending = [groupOf('all', most), groupOf(`owner ${user.owner}`, most / 4)]
      if (user.host !== undefined) sending.push(groupOf(`host ${user.host}`, perHost))
      if (user.isSlow) sending.push(groupOf('slow', most / 2))
      const unrecorded = groupOf('unrecorded', MOST_UNRECORDED)
      const full = [...sending, unrecorded].find((group) => group.used >= group.most)
      if (full !== undefined) {
        full.waiting.add(user)
        return undefined
      }
      for (const group of [...sending, unrecorded]) {
        group.used += 1
        assert(group.used <= group.most, 'a group has its share', group.name)
      }
      let isSent = false
      const sent = (): void => {
        if (isSent) return
        isSent = true
        leave(sending)
      }
      return {
        sent,
        ended() {
          sent()
          leave([unrecorded])
        },
      }
    },
    /** Forgets one that waits. */
    drop(user: SlotUser): void {
      for (const { waiting } of groups.values()) waiting.delete(user)
    },
    /** Attempts that are being sent or recorded. */
    get underWay(): number {
      return groups.get('unrecorded')?.used ?? 0
    },
  }
}

export type Slots = ReturnType<typeof createSlots>
