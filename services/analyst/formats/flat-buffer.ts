/** A value of a fixed size, or something that stands elsewhere in the buffer. */
export type FlatField =
  | { readonly bytes: 1 | 2 | 4 | 8; readonly value: number }
  | { readonly to: FlatTable | FlatVector | string }

/** Fields by their slot; undefined where a field has its default. */
export type FlatTable = readonly (FlatField | undefined)[]

/** Tables or texts, or structs of two 64-bit numbers each. */
export type FlatVector =
  | { readonly items: readonly (FlatTable | string)[] }
  | { readonly pairs: readonly (readonly [number, number])[] }

export const i8 = (value: number): FlatField => ({ bytes: 1, value })
export const i16 = (value: number): FlatField => ({ bytes: 2, value })
export const i32 = (value: number): FlatField => ({ bytes: 4, value })
export const i64 = (value: number): FlatField => ({ bytes: 8, value })
export const to = (target: FlatTable | FlatVector | string): FlatField => ({ to: target })

/**
 * Writes a FlatBuffer: as much of the format as Arrow's metadata needs. Everything is little-endian and aligned to its
 * own size from the start of the buffer; the target of a reference comes after it.
 *
 * @returns a multiple of eight bytes
 * @example flatBuffer([i16(4), to('name'), undefined, to({ items: [] })])
 */
export function flatBuffer(root: FlatTable): Buffer {
  const out = new Sink()
  const at = out.take(4, 4)
  out.refer(at, writeTable(out, root))
  return out.whole(8)
}

/** The table's place; each table has a vtable of its own, right in front of it. */
function writeTable(out: Sink, fields: FlatTable): number {
  const sizes = fields.map((field) => (field === undefined ? 0 : 'to' in field ? 4 : field.bytes))
  const vtable = out.take(4 + 2 * fields.length, 2)
  const table = out.take(4, Math.max(4, ...sizes))
  out.u16(vtable, 4 + 2 * fields.length)
  out.i32(table, table - vtable)
  const places = fields.map((field, slot) => {
    const size = sizes[slot] ?? 0
    if (field === undefined || size === 0) return undefined
    const place = out.take(size, size)
    out.u16(vtable + 4 + 2 * slot, place - table)
    if ('value' in field) out.number(place, field.bytes, field.value)
    return place
  })
  out.u16(vtable + 2, out.length - table)
  for (const [slot, field] of fields.entries()) {
    const place = places[slot]
    if (place !== undefined && field !== undefined && 'to' in field) out.refer(place, write(out, field.to))
  }
  return table
}

function write(out: Sink, target: FlatTable | FlatVector | string): number {
  if (typeof target === 'string') return writeText(out, target)
  if (isTable(target)) return writeTable(out, target)
  if ('pairs' in target) return writePairs(out, target.pairs)
  const vector = out.take(4 + 4 * target.items.length, 4)
  out.i32(vector, target.items.length)
  for (const [index, item] of target.items.entries()) out.refer(vector + 4 + 4 * index, write(out, item))
  return vector
}

const isTable = (target: FlatTable | FlatVector): target is FlatTable => Array.isArray(target)

function writeText(out: Sink, text: string): number {
  const bytes = Buffer.from(text)
  const place = out.take(4 + bytes.length + 1, 4)
  out.i32(place, bytes.length)
  out.put(place + 4, bytes)
  return place
}

/** The count stands right in front of the pairs, which are aligned to eight bytes. */
function writePairs(out: Sink, pairs: readonly (readonly [number, number])[]): number {
  out.align(8, 4)
  const place = out.take(4 + 16 * pairs.length, 4)
  out.i32(place, pairs.length)
  for (const [index, [first, second]] of pairs.entries()) {
    out.number(place + 4 + 16 * index, 8, first)
    out.number(place + 12 + 16 * index, 8, second)
  }
  return place
}

/** Zeroed bytes that grow. */
class Sink {
  length = 0
  #bytes = Buffer.alloc(1_024)

  /** Pads so that the byte at a distance of `behind` from the end is aligned. */
  align(bytes: number, behind = 0): void {
    while ((this.length + behind) % bytes !== 0) this.length += 1
  }

  take(bytes: number, alignment: number): number {
    this.align(alignment)
    const place = this.length
    this.length += bytes
    if (this.length > this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes], Math.max(this.length, 2 * this.#bytes.length))
    return place
  }

  number(place: number, bytes: 1 | 2 | 4 | 8, value: number): void {
    if (bytes === 8) this.#bytes.writeBigInt64LE(BigInt(value), place)
    else this.#bytes.writeIntLE(value, place, bytes)
  }

  u16(place: number, value: number): void {
    this.#bytes.writeUInt16LE(value, place)
  }

  i32(place: number, value: number): void {
    this.#bytes.writeInt32LE(value, place)
  }

  put(place: number, bytes: Uint8Array): void {
    this.#bytes.set(bytes, place)
  }

  /** Offsets count from where they stand. */
  refer(place: number, target: number): void {
    this.#bytes.writeUInt32LE(target - place, place)
  }

  whole(alignment: number): Buffer {
    this.align(alignment)
    return this.#bytes.length >= this.length
      ? this.#bytes.subarray(0, this.length)
      : Buffer.concat([this.#bytes], this.length)
  }
}
