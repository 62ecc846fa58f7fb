/** Items that are due at some time, the earliest first. */
export interface DelayQueue<Item> {
  readonly size: number
  /** When the earliest is due; undefined when there is none. */
  readonly nextAt: number | undefined
  /** The earliest; undefined when there is none. */
  readonly first: Item | undefined
  add(at: number, item: Item): void
  /** Takes the earliest, if it is due. */
  take(now: number): Item | undefined
  clear(): void
}

/** A binary heap: adding and taking cost the logarithm of what waits, and nothing has a timer of its own. */
export function createDelayQueue<Item>(): DelayQueue<Item> {
  const heap: { readonly at: number; readonly item: Item }[] = []
  const at = (index: number): number => heap[index]?.at ?? Number.POSITIVE_INFINITY

  function swap(a: number, b: number): void {
    const [first, second] = [heap[a], heap[b]]
    if (first === undefined || second === undefined) return
    heap[a] = second
    heap[b] = first
  }

  function sink(): void {
    for (let index = 0; ; ) {
      const [left, right] = [2 * index + 1, 2 * index + 2]
      const least = at(right) < at(left) ? right : left
      if (at(index) <= at(least)) return
      swap(index, least)
      index = least
    }
  }

  return {
    get size() {
      return heap.length
    },
    get nextAt() {
      return heap[0]?.at
    },
    get first() {
      return heap[0]?.item
    },
    add(dueAt, item) {
      heap.push({ at: dueAt, item })
      for (let index = heap.length - 1; index > 0; ) {
        const parent = (index - 1) >> 1
        if (at(parent) <= at(index)) return
        swap(parent, index)
        index = parent
      }
    },
    take(now) {
      const first = heap[0]
      if (first === undefined || first.at > now) return undefined
      const last = heap.pop()
      if (heap.length > 0 && last !== undefined) {
        heap[0] = last
        sink()
      }
      return first.item
    },
    clear() {
      heap.length = 0
    },
  }
}
