import type { Json } from '../../../contracts/json.ts'
import type { BusMessage } from './bus.ts'

/** A message as an adapter hands it to a consumer. */
export interface Delivery {
  readonly id: string
  readonly subject: string
  readonly body: Json
  readonly redelivered: boolean
  /** Tells the bus that it is handled. */
  readonly acknowledge: () => void
  /** Tells the bus that it was not looked at and may go to another consumer at once. */
  readonly giveBack: () => void
}

/** The share of a consumer that one subject pattern may fill. */
export interface IntakeQueue {
  /** Messages it may still take. */
  readonly room: () => number
  readonly accept: (delivery: Delivery) => void
}

export interface Intake {
  /** `onRoom` is called when a full queue has room again. */
  queue(options: { readonly maxInFlight: number; readonly onRoom: () => void }): IntakeQueue
  /** To be iterated once; ending the iteration calls `onEnd`. */
  readonly messages: () => AsyncGenerator<BusMessage, void, undefined>
  /** Gives back what was not looked at and ends the iteration. */
  readonly end: () => void
}

interface Held {
  readonly delivery: Delivery
  readonly queue: QueueState
  /** From here on the bus delivers it again, so it no longer counts as held. */
  readonly deadlineMs: number
}

interface QueueState {
  held: number
  readonly maxInFlight: number
  readonly onRoom: () => void
}

/**
 * The consumer's half of a consumption, the same for every adapter: messages of several queues become one
 * iteration, and no queue holds more than its bound. A message that waited here past the acknowledgement
 * time is passed over, because the bus has sent it again; one that is never acknowledged stops counting then.
 */
export function createIntake(options: {
  readonly now: () => number
  readonly ackWaitMs: number
  readonly onEnd: () => void
}): Intake {
  const { now, ackWaitMs, onEnd } = options
  let waiting: Held[] = []
  let ended = false
  let arrived = Promise.withResolvers<void>()
  const unacknowledged = new Map<Held, NodeJS.Timeout>()

  function arrival(): Promise<void> {
    arrived = Promise.withResolvers()
    return arrived.promise
  }

  function release({ queue }: Held): void {
    const wasFull = queue.held >= queue.maxInFlight
    queue.held--
    if (wasFull && !ended) queue.onRoom()
  }

  function settle(held: Held): void {
    clearTimeout(unacknowledged.get(held))
    if (unacknowledged.delete(held)) release(held)
  }

  function handOut(held: Held): BusMessage {
    const { delivery } = held
    unacknowledged.set(held, setTimeout(settle, held.deadlineMs - now(), held).unref())
    return {
      id: delivery.id,
      subject: delivery.subject,
      body: delivery.body,
      redelivered: delivery.redelivered,
      ack() {
        settle(held)
        delivery.acknowledge()
      },
    }
  }

  function end(): void {
    if (ended) return
    ended = true
    const unseen = waiting
    waiting = []
    for (const { delivery } of unseen) delivery.giveBack()
    for (const timer of unacknowledged.values()) clearTimeout(timer)
    unacknowledged.clear()
    arrived.resolve()
  }

  return {
    queue({ maxInFlight, onRoom }) {
      const state: QueueState = { held: 0, maxInFlight, onRoom }
      return {
        room: () => (ended ? 0 : maxInFlight - state.held),
        accept(delivery) {
          if (ended) {
            delivery.giveBack()
            return
          }
          state.held++
          waiting.push({ delivery, queue: state, deadlineMs: now() + ackWaitMs })
          arrived.resolve()
        },
      }
    },

    async *messages() {
      try {
        for (;;) {
          const held = waiting.shift()
          if (held === undefined && ended) return
          if (held === undefined) await arrival()
          else if (held.deadlineMs <= now()) release(held)
          else yield handOut(held)
        }
      } finally {
        onEnd()
        end()
      }
    },
    end,
  }
}
