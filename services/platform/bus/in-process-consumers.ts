/** A message as the in-process bus keeps it: encoded, so that every reader gets a value of its own. */
export interface StoredMessage {
  readonly id: string
  readonly subject: string
  readonly text: string
}

/** One consumer among those that share a name and a subject pattern. */
export interface Member {
  readonly room: () => number
  readonly deliver: (lease: Lease) => void
}

/** A message handed to a member, which has it until it settles it or the acknowledgement time is over. */
export interface Lease {
  readonly message: StoredMessage
  readonly redelivered: boolean
  readonly acknowledge: () => void
  readonly giveBack: () => void
}

/** The consumers of one name and subject pattern, with what waits for them. It outlives its members. */
export interface ConsumerGroup {
  offer(message: StoredMessage): void
  join(member: Member): void
  leave(member: Member): void
  /** Hands out what waits; to be called when a member has room again. */
  readonly dispatch: () => void
  /** Messages that wait or are not acknowledged. */
  pending(): number
  close(): void
}

/** What keeping a message costs beyond its text; bounds the count of small ones. */
const MESSAGE_OVERHEAD_BYTES = 256

const sizeOf = (message: StoredMessage): number => message.text.length + MESSAGE_OVERHEAD_BYTES

interface Entry {
  readonly message: StoredMessage
  deliveries: number
}

interface OpenLease {
  readonly entry: Entry
  readonly deadlineMs: number
}

/**
 * At-least-once delivery to competing members: each message goes to one of them in turn, and again to any
 * of them when it is not acknowledged in time. Past `backlogBytes` the oldest waiting message is dropped.
 */
export function createConsumerGroup(options: {
  readonly now: () => number
  readonly ackWaitMs: number
  readonly backlogBytes: number
}): ConsumerGroup {
  const { now, ackWaitMs, backlogBytes } = options
  const fresh = createBacklog()
  /** Delivered before and handed out first; bounded by what members held. */
  const returned: Entry[] = []
  /** In the order of their deadlines, because every lease lasts equally long. */
  const leases = new Set<OpenLease>()
  const members: Member[] = []
  let turn = 0
  let timer: NodeJS.Timeout | undefined

  function nextMember(): Member | undefined {
    for (let tried = 0; tried < members.length; tried++) {
      const member = members[turn++ % members.length]
      if (member !== undefined && member.room() > 0) return member
    }
    return undefined
  }

  function dispatch(): void {
    while (returned.length > 0 || fresh.count() > 0) {
      const member = nextMember()
      if (member === undefined) return
      const entry = returned.shift() ?? fresh.take()
      if (entry !== undefined) lease(entry, member)
    }
  }

  function lease(entry: Entry, member: Member): void {
    const open: OpenLease = { entry, deadlineMs: now() + ackWaitMs }
    leases.add(open)
    timer ??= setTimeout(expire, ackWaitMs).unref()
    member.deliver({
      message: entry.message,
      redelivered: entry.deliveries++ > 0,
      acknowledge: () => {
        leases.delete(open)
      },
      giveBack() {
        if (!leases.delete(open)) return
        returned.push(entry)
        dispatch()
      },
    })
  }

  function expire(): void {
    timer = undefined
    for (const open of leases) {
      const leftMs = open.deadlineMs - now()
      if (leftMs > 0) {
        timer = setTimeout(expire, leftMs).unref()
        break
      }
      leases.delete(open)
      returned.push(open.entry)
    }
    dispatch()
  }

  return {
    offer(message) {
      fresh.add({ message, deliveries: 0 })
      dispatch()
      while (fresh.bytes() > backlogBytes) fresh.take()
    },
    join(member) {
      members.push(member)
      dispatch()
    },
    leave(member) {
      const index = members.indexOf(member)
      if (index !== -1) members.splice(index, 1)
    },
    dispatch,
    pending: () => fresh.count() + returned.length + leases.size,
    close() {
      clearTimeout(timer)
      members.length = 0
    },
  }
}

/** First in, first out, without moving what remains on every take. */
function createBacklog() {
  let entries: (Entry | undefined)[] = []
  let head = 0
  let bytes = 0
  return {
    count: () => entries.length - head,
    bytes: () => bytes,
    add(entry: Entry): void {
      entries.push(entry)
      bytes += sizeOf(entry.message)
    },
    take(): Entry | undefined {
      const entry = entries[head]
      if (entry === undefined) return undefined
      entries[head++] = undefined
      bytes -= sizeOf(entry.message)
      if (head * 2 > entries.length) {
        entries = entries.slice(head)
        head = 0
      }
      return entry
    },
  }
}
