/** Hands out items by time, earliest first; a binary heap. */
export interface TimeQueue<Item> {
  put(time: number, item: Item): void
  /** Time of the earliest item; infinite while there is none. */
  earliest(): number
  /** Removes and returns the earliest item. */
  take(): Item | undefined
}

interface Entry<Item> {
  readonly time: number
  readonly item: Item
}

/** @example const queue = createTimeQueue<string>(); queue.put(5, 'five'); queue.earliest() === 5 */
export function createTimeQueue<Item>(): TimeQueue<Item> {
  const heap: Entry<Item>[] = []
  const timeAt = (index: number): number => heap[index]?.time ?? Number.POSITIVE_INFINITY

  function swap(a: number, b: number): void {
    const entry = heap[a] as Entry<Item>
    heap[a] = heap[b] as Entry<Item>
    heap[b] = entry
  }

  function put(time: number, item: Item): void {
    let index = heap.push({ time, item }) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (timeAt(parent) <= time) return
      swap(index, parent)
      index = parent
    }
  }

  function take(): Item | undefined {
    const first = heap[0]
    const last = heap.pop()
    if (heap.length === 0 || last === undefined) return first?.item
    heap[0] = last
    for (let index = 0; ; ) {
      const left = 2 * index + 1
      const child = timeAt(left + 1) < timeAt(left) ? left + 1 : left
      if (timeAt(child) >= timeAt(index)) return first?.item
      swap(index, child)
      index = child
    }
  }

  return { put, earliest: () => timeAt(0), take }
}
