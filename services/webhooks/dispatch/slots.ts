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
  readonly most: number
  used: number
  /** In the order in which they came. */
  readonly waiting: Set<SlotUser>
}

const newGroup = (most: number): Group => ({ most, used: 0, waiting: new Set() })

/** Attempts that wait to be recorded, beyond which nothing is begun: the log is too slow, or away. */
const MOST_UNRECORDED = 1_024

/**
 * Bounds the attempts of a process: all of them, those at slow endpoints, and those of each owner and of each host. One
 * that finds a group full waits in it, and is called in its turn.
 *
 * @example const slot = slots.take(endpoint); if (slot === undefined) return // endpoint.pump() is called later
 */
export function createSlots(most: number = LIMITS.webhookAttemptsAtOnce) {
  const [all, slow, unrecorded] = [most, most / 2, MOST_UNRECORDED].map(newGroup) as [Group, Group, Group]
  const owners = new Map<string, Group>()
  const hosts = new Map<string, Group>()
  const perHost = Math.min(most / 4, LIMITS.webhookConnectionsPerOrigin)

  function groupOf(groups: Map<string, Group>, name: string, share: number): Group {
    let group = groups.get(name)
    if (group === undefined) groups.set(name, (group = newGroup(share)))
    return group
  }

  function forget(groups: Map<string, Group>, name: string | undefined): void {
    const group = name === undefined ? undefined : groups.get(name)
    if (name !== undefined && group?.used === 0 && group.waiting.size === 0) groups.delete(name)
  }

  function leave(left: readonly Group[]): void {
    for (const group of left) {
      group.used -= 1
      assert(group.used >= 0, 'a slot is given back once', group.used)
    }
    for (const group of left) {
      for (const user of group.waiting) {
        if (group.used >= group.most) break
        group.waiting.delete(user)
        user.pump()
      }
    }
  }

  return {
    /** Takes a slot; undefined where there is none: then the endpoint waits. */
    take(user: SlotUser): Slot | undefined {
      const { owner, host } = user
      const sending = [all, groupOf(owners, owner, most / 4)]
      if (host !== undefined) sending.push(groupOf(hosts, host, perHost))
      if (user.isSlow) sending.push(slow)
      const full = [...sending, unrecorded].find((group) => group.used >= group.most)
      if (full !== undefined) {
        full.waiting.add(user)
        return undefined
      }
      for (const group of [...sending, unrecorded]) {
        group.used += 1
        assert(group.used <= group.most, 'a group has its share', group.used)
      }
      let isSent = false
      const sent = (): void => {
        if (isSent) return
        isSent = true
        leave(sending)
        forget(owners, owner)
        forget(hosts, host)
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
      for (const { waiting } of [all, slow, unrecorded, ...owners.values(), ...hosts.values()])
        waiting.delete(user)
    },
    /** Attempts that are being sent or recorded. */
    get underWay(): number {
      return unrecorded.used
    },
  }
}

export type Slots = ReturnType<typeof createSlots>
