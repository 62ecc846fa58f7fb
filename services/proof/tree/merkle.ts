import { hash } from 'node:crypto'

/** A SHA-256: 32 bytes. */
export type Hash = Buffer

export const HASH_BYTES = 32

/**
 * The hash of a complete subtree: of leaves [index × 2^level, (index + 1) × 2^level). It is asked only for subtrees that
 * are whole.
 */
export type HashSource = (level: number, index: number) => Hash

/** The digest as text of one byte a character takes a third of the time that one as a buffer takes. */
export const sha256 = (data: string | Uint8Array): Hash =>
  Buffer.from(hash('sha256', data, 'binary'), 'latin1')

/** The root of a tree without leaves. */
export const EMPTY_ROOT: Hash = sha256('')

/** The hash of an entry, told apart from a node by its first byte (RFC 6962). */
export function leafHash(entry: Uint8Array): Hash {
  const text = Buffer.allocUnsafe(1 + entry.length)
  text[0] = 0
  text.set(entry, 1)
  return sha256(text)
}

const NODE = Buffer.alloc(1 + 2 * HASH_BYTES, 1)

export function nodeHash(left: Uint8Array, right: Uint8Array): Hash {
  NODE.set(left, 1)
  NODE.set(right, 1 + HASH_BYTES)
  return sha256(NODE)
}

/** The root over the first leaves. */
export const rootOf = (source: HashSource, size: number): Hash =>
  size === 0 ? EMPTY_ROOT : hashOf(source, 0, size)

/** Proves that a leaf is in a tree: hashes from its neighbour up to the root's child. */
export function inclusionProof(source: HashSource, index: number, size: number): Hash[] {
  const path: Hash[] = []
  for (let [start, end] = [0, size]; end - start > 1; ) {
    const middle = start + splitOf(end - start)
    if (index < middle) {
      path.unshift(hashOf(source, middle, end))
      end = middle
    } else {
      path.unshift(hashOf(source, start, middle))
      start = middle
    }
  }
  return path
}

/** The root that a proof leads to from a leaf; undefined where it is not a proof for this place. */
export function rootOfInclusion(
  { index, size }: { readonly index: number; readonly size: number },
  leaf: Hash,
  proof: readonly Hash[],
): Hash | undefined {
  if (index >= size) return undefined
  let [at, last, root] = [index, size - 1, leaf]
  for (const sibling of proof) {
    if (last === 0) return undefined
    if (at % 2 === 1 || at === last) {
      root = nodeHash(sibling, root)
      while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)]
    } else root = nodeHash(root, sibling)
    ;[at, last] = [half(at), half(last)]
  }
  return last === 0 ? root : undefined
}

/** Hashes of subtrees over leaves, each computed once. */
export function hashesOver(leaves: readonly Hash[]): HashSource {
  const levels: Hash[][] = [leaves as Hash[]]
  return (level, index) => {
    while (levels.length <= level) {
      const below = levels.at(-1) ?? []
      levels.push(
        Array.from({ length: half(below.length) }, (_, at) =>
          nodeHash(below[2 * at] ?? EMPTY_ROOT, below[2 * at + 1] ?? EMPTY_ROOT),
        ),
      )
    }
    const found = levels[level]?.[index]
    if (found === undefined) throw new RangeError(`no subtree ${index} at level ${level}`)
    return found
  }
}

/** A tree whose leaves come one by one; it holds one hash for each level. */
export class GrowingTree {
  readonly #peaks: Hash[] = []
  size = 0

  add(leaf: Hash): void {
    let [node, level] = [leaf, 0]
    for (let left = this.size; left % 2 === 1; left = half(left))
      node = nodeHash(this.#peaks[level++] ?? EMPTY_ROOT, node)
    this.#peaks[level] = node
    this.size += 1
  }

  root(): Hash {
    // A level has a peak if its bit of the size is set.
    const [lowest = EMPTY_ROOT, ...higher] = this.#peaks.filter(
      (_, level) => Math.floor(this.size / 2 ** level) % 2 === 1,
    )
    return higher.reduce((right, left) => nodeHash(left, right), lowest)
  }
}

/** The hash over leaves [start, end), where the range is a node of a tree. */
function hashOf(source: HashSource, start: number, end: number): Hash {
  const size = end - start
  const split = splitOf(size)
  if (size === 1) return source(0, start)
  if (split * 2 === size) return source(Math.log2(size), start / size)
  return nodeHash(hashOf(source, start, start + split), hashOf(source, start + split, end))
}

/** The largest power of two below a size. */
function splitOf(size: number): number {
  let split = 1
  while (split * 2 < size) split *= 2
  return split
}

const half = (value: number): number => Math.floor(value / 2)
