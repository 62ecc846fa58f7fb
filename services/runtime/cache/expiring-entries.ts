/** What an entry costs beyond its text: the node, its key's slot and the map's. */
const ENTRY_OVERHEAD_BYTES = 160
/** Entries looked at for having expired, with every entry that is written. */
const SWEEP_ENTRIES = 4

interface Node {
  readonly key: string
  value: string
  expiresAtMs: number
  newer: Node | undefined
  older: Node | undefined
}

export interface Entry {
  readonly value: string
  readonly expiresAtMs: number
}

/** Entries with a time to live, the least recently used given up first when there are too many. */
export interface ExpiringEntries {
  /** Undefined where there is none or its time is over; counts as a use. */
  get(key: string): Entry | undefined
  set(key: string, value: string, expiresAtMs: number): void
  delete(key: string): void
  clear(): void
  count(): number
}

/**
 * A bounded map. A list through the entries keeps the order of their use; what has expired is removed when
 * it is met, and by a sweep that goes a few entries further with every write.
 */
export function createExpiringEntries(options: {
  /** Unix milliseconds. */
  readonly now: () => number
  readonly maxEntries: number
  readonly maxBytes: number
}): ExpiringEntries {
  const { now, maxEntries, maxBytes } = options
  const nodes = new Map<string, Node>()
  let newest: Node | undefined
  let oldest: Node | undefined
  let bytes = 0
  let sweep = nodes.values()

  function unlink(node: Node): void {
    if (node.newer === undefined) newest = node.older
    else node.newer.older = node.older
    if (node.older === undefined) oldest = node.newer
    else node.older.newer = node.newer
  }

  function linkNewest(node: Node): void {
    node.newer = undefined
    node.older = newest
    if (newest === undefined) oldest = node
    else newest.newer = node
    newest = node
  }

  function remove(node: Node): void {
    unlink(node)
    nodes.delete(node.key)
    bytes -= sizeOf(node.key, node.value)
  }

  function sweepOn(): void {
    for (let looked = 0; looked < SWEEP_ENTRIES; looked++) {
      const { value: node, done } = sweep.next()
      if (done === true) {
        sweep = nodes.values()
        return
      }
      if (node.expiresAtMs <= now()) remove(node)
    }
  }

  function giveUpOldest(): void {
    while (nodes.size > maxEntries || bytes > maxBytes) {
      if (oldest === undefined) return
      remove(oldest)
    }
  }

  return {
    get(key) {
      const node = nodes.get(key)
      if (node === undefined) return undefined
      if (node.expiresAtMs <= now()) {
        remove(node)
        return undefined
      }
      unlink(node)
      linkNewest(node)
      return node
    },

    set(key, value, expiresAtMs) {
      const known = nodes.get(key)
      if (known !== undefined) remove(known)
      const node: Node = { key, value, expiresAtMs, newer: undefined, older: undefined }
      nodes.set(key, node)
      linkNewest(node)
      bytes += sizeOf(key, value)
      sweepOn()
      giveUpOldest()
    },

    delete(key) {
      const node = nodes.get(key)
      if (node !== undefined) remove(node)
    },

    clear() {
      nodes.clear()
      newest = undefined
      oldest = undefined
      bytes = 0
      sweep = nodes.values()
    },

    count: () => nodes.size,
  }
}

/** Two bytes a character, which is what text takes at most. */
const sizeOf = (key: string, value: string): number => 2 * (key.length + value.length) + ENTRY_OVERHEAD_BYTES
