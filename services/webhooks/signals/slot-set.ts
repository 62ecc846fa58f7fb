const BITS = 32

/** A set of small whole numbers, one bit each: whole words of many such sets are cut with one another at once. */
export interface SlotSet {
  readonly words: Uint32Array
  add(slot: number): void
  delete(slot: number): void
  has(slot: number): boolean
}

/** Of no slots; as a word of it does not exist, `word ?? 0` of any set is what it has there. */
export function createSlotSet(): SlotSet {
  let words = new Uint32Array(0)
  return {
    get words() {
      return words
    },
    add(slot) {
      const index = Math.floor(slot / BITS)
      if (index >= words.length) {
        const larger = new Uint32Array(Math.max(index + 1, words.length * 2))
        larger.set(words)
        words = larger
      }
      words[index] = (words[index] ?? 0) | (1 << (slot % BITS))
    },
    delete(slot) {
      const index = Math.floor(slot / BITS)
      if (index < words.length) words[index] = (words[index] ?? 0) & ~(1 << (slot % BITS))
    },
    has: (slot) => ((words[Math.floor(slot / BITS)] ?? 0) & (1 << (slot % BITS))) !== 0,
  }
}

/** Calls back for the slot of every bit of a word. */
export function eachBit(word: number, index: number, visit: (slot: number) => void): void {
  for (let left = word; left !== 0; left &= left - 1) {
    visit(index * BITS + (BITS - 1 - Math.clz32(left & -left)))
  }
}
