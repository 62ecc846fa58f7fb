import { createDelayQueue } from '../../runtime/async/delay-queue.ts'

export type PaymentSchedule = ReturnType<typeof createPaymentSchedule>

export type Order = 'first' | 'later'

/** One place in so many of a batch is kept for payments that come later by their order. */
const SHARE_OF_LATER = 5

/** Payments by the time of their next look, on the caller's clock. */
export function createPaymentSchedule() {
  const queues = { first: createQueue(), later: createQueue() } as const
  return {
    /**
     * Puts a payment at a time, or moves it there.
     *
     * @param order `later` for one that is looked at again although nothing is likely to have changed
     */
    put(stream: string, at: number, order: Order = 'first'): void {
      queues[order === 'first' ? 'later' : 'first'].delete(stream)
      queues[order].put(stream, at)
    },
    /**
     * Takes due payments, the earliest first. While others are due, at most a fifth of them come later by their order, so
     * that neither order starves.
     */
    take(now: number, most: number): string[] {
      const kept = Math.floor(most / SHARE_OF_LATER)
      const later = queues.later.take(now, kept)
      const first = queues.first.take(now, most - later.length)
      const rest = queues.later.take(now, most - later.length - first.length)
      return [...first, ...later, ...rest]
    },
    delete(stream: string): void {
      queues.first.delete(stream)
      queues.later.delete(stream)
    },
    /** Milliseconds until the next one; undefined if there is none. */
    nextIn(now: number): number | undefined {
      const next = Math.min(queues.first.earliest(), queues.later.earliest())
      return next === Number.POSITIVE_INFINITY ? undefined : Math.max(0, next - now)
    },
  }
}

interface Entry {
  readonly stream: string
  readonly at: number
}

/** Entries by their time. One that was put elsewhere or deleted stays in the queue until its turn comes. */
function createQueue() {
  const queue = createDelayQueue<Entry>()
  const current = new Map<string, Entry>()

  /** The first that still counts. */
  function head(): Entry | undefined {
    for (let { first } = queue; first !== undefined; first = queue.first) {
      if (current.get(first.stream) === first) return first
      queue.take(first.at)
    }
    return undefined
  }

  return {
    put(stream: string, time: number): void {
      const entry = { stream, at: time }
      current.set(stream, entry)
      queue.add(time, entry)
      // What does not count any more must not outgrow what does.
      if (queue.size < 64 || queue.size < 4 * current.size) return
      queue.clear()
      for (const each of current.values()) queue.add(each.at, each)
    },
    delete: (stream: string): void => void current.delete(stream),
    earliest: (): number => head()?.at ?? Number.POSITIVE_INFINITY,
    take(now: number, most: number): string[] {
      const taken: string[] = []
      for (
        let first = head();
        first !== undefined && taken.length < most && first.at <= now;
        first = head()
      ) {
        taken.push(first.stream)
        current.delete(first.stream)
        queue.take(first.at)
      }
      return taken
    },
  }
}
