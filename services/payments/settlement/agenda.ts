/** Payments that are to be looked at, each at its time, by whatever clock its caller keeps to. */
export interface Agenda {
  /**
   * Puts a payment at a time, also one that stands at another.
   *
   * @param order `later` for one that is looked at again although nothing is likely to have changed
   */
  put(stream: string, at: number, order?: Order): void
  /**
   * Takes those off whose time has come, the earliest first; of those that come later a fifth at most while others
   * are due, so that neither keeps the other waiting for good.
   */
  take(now: number, most: number): string[]
  delete(stream: string): void
  /** Milliseconds until the next one; undefined where there is none. */
  nextIn(now: number): number | undefined
}

export type Order = 'first' | 'later'

/** Of what is taken together, one in so many is kept for those that come later. */
const SHARE_OF_LATER = 5

export function createAgenda(): Agenda {
  const queues = { first: createQueue(), later: createQueue() } as const
  return {
    put(stream, at, order = 'first') {
      queues[order === 'first' ? 'later' : 'first'].delete(stream)
      queues[order].put(stream, at)
    },
    take(now, most) {
      const kept = Math.floor(most / SHARE_OF_LATER)
      const later = queues.later.take(now, kept)
      const first = queues.first.take(now, most - later.length)
      const rest = queues.later.take(now, most - later.length - first.length)
      return [...first, ...later, ...rest]
    },
    delete(stream) {
      queues.first.delete(stream)
      queues.later.delete(stream)
    },
    nextIn(now) {
      const next = Math.min(queues.first.earliest(), queues.later.earliest())
      return next === Number.POSITIVE_INFINITY ? undefined : Math.max(0, next - now)
    },
  }
}

interface Entry {
  readonly stream: string
  readonly at: number
}

/** Entries by their time. One that was put elsewhere or deleted stays in the heap until its turn comes. */
function createQueue() {
  let heap: Entry[] = []
  const current = new Map<string, Entry>()

  function push(entry: Entry): void {
    let place = heap.push(entry) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (at(parent) <= entry.at) break
      heap[place] = heap[parent] as Entry
      place = parent
    }
    heap[place] = entry
  }

  function pop(): void {
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let place = 0
    for (;;) {
      const left = 2 * place + 1
      const least = at(left + 1) < at(left) ? left + 1 : left
      if (at(least) >= last.at) break
      heap[place] = heap[least] as Entry
      place = least
    }
    heap[place] = last
  }

  const at = (place: number): number => heap[place]?.at ?? Number.POSITIVE_INFINITY

  /** The first that still counts. */
  function head(): Entry | undefined {
    for (let first = heap[0]; first !== undefined; first = heap[0]) {
      if (current.get(first.stream) === first) return first
      pop()
    }
    return undefined
  }

  return {
    put(stream: string, time: number): void {
      const entry = { stream, at: time }
      current.set(stream, entry)
      push(entry)
      // What does not count any more must not outgrow what does.
      if (heap.length < 64 || heap.length < 4 * current.size) return
      const all = [...current.values()]
      heap = []
      for (const each of all) push(each)
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
        pop()
      }
      return taken
    },
  }
}
