import { assert } from '../../../contracts/assert.ts'

/** A field of a message: its number, and a number, a text or a message. */
export type Field = readonly [field: number, value: string | number | readonly Field[]]

/** Bytes of a tag and a number, or of a tag and a length, at most. */
const BESIDES_BYTES = 12

export const message = (field: number, ...fields: Field[]): Field => [field, fields]

export function encodeMessage(fields: readonly Field[]): Buffer {
  const bytes = Buffer.allocUnsafe(sizeOf(fields))
  const start = writeBefore(bytes.length, bytes, fields)
  assert(start >= 0, 'a request fits where it is written', start)
  return bytes.subarray(start)
}

function sizeOf(fields: readonly Field[]): number {
  let size = fields.length * BESIDES_BYTES
  for (const [, value] of fields)
    if (typeof value !== 'number')
      size += typeof value === 'string' ? Buffer.byteLength(value) : sizeOf(value)
  return size
}

/** Writes from the end to the beginning, since the length of a part stands before it. @returns where they begin */
function writeBefore(end: number, bytes: Buffer, fields: readonly Field[]): number {
  let at = end
  for (const [field, value] of fields.toReversed()) {
    const last = at
    if (typeof value === 'string') bytes.write(value, (at -= Buffer.byteLength(value)))
    else if (typeof value !== 'number') at = writeBefore(at, bytes, value)
    const digits = [typeof value === 'number' ? value : last - at]
    for (let rest = digits[0] ?? 0; rest >= 128; digits.push(rest)) rest = Math.floor(rest / 128)
    for (const [index, digit] of digits.toReversed().entries())
      bytes[--at] = (digit % 128) + (index > 0 ? 128 : 0)
    bytes[--at] = field * 8 + (typeof value === 'number' ? 0 : 2)
  }
  return at
}

/** Begin and end of a value in the bytes of a message. */
export type Place = readonly [from: number, to: number]

/** Bytes of values of a fixed length, by how their tag ends. */
const FIXED_BYTES: Readonly<Record<number, number>> = { 1: 8, 5: 4 }
/** Digits to base 128: so many are exact in a number, and a number has so many at most. */
const [EXACT_DIGITS, MOST_DIGITS] = [7, 10]

/** Finds all values of a field in the message at a place. @throws RangeError for one that is cut off, or is none */
export function placesIn(bytes: Buffer, [begin, end]: Place, field: number): Place[] {
  const places: Place[] = []
  for (let at = begin; at < end; ) {
    let from = endOfNumber(bytes, at)
    const tag = Number(numberAt(bytes, [at, from]))
    const kind = tag % 8
    if (kind === 0) at = endOfNumber(bytes, from)
    else if (kind === 2) {
      const length = from
      from = endOfNumber(bytes, length)
      at = from + Number(numberAt(bytes, [length, from]))
    } else at = from + (FIXED_BYTES[kind] ?? Infinity)
    if (at > end || tag < 8) throw cutOffError()
    if (Math.floor(tag / 8) === field) places.push([from, at])
  }
  return places
}

/** Finds the value to which a path of fields leads, in the message at a place. */
export function placeIn(bytes: Buffer, place: Place, ...path: number[]): Place | undefined {
  let found: Place | undefined = place
  for (const field of path) found &&= placesIn(bytes, found, field).at(-1)
  return found
}

export function textIn(bytes: Buffer, place: Place, ...path: number[]): string {
  const found = placeIn(bytes, place, ...path)
  return found === undefined ? '' : bytes.toString('utf8', ...found)
}

export function numberIn(bytes: Buffer, place: Place, ...path: number[]): number | bigint {
  const found = placeIn(bytes, place, ...path)
  return found === undefined ? 0 : numberAt(bytes, found)
}

function endOfNumber(bytes: Buffer, from: number): number {
  let at = from
  while ((bytes[at] ?? 0) >= 128) at += 1
  if (at >= bytes.length || at - from >= MOST_DIGITS) throw cutOffError()
  return at + 1
}

function numberAt(bytes: Buffer, [from, to]: Place): number | bigint {
  let number = 0
  if (to - from <= EXACT_DIGITS) {
    for (let at = to; at > from; ) number = number * 128 + ((bytes[--at] ?? 0) & 127)
    return number
  }
  let long = 0n
  for (let at = to; at > from; ) long = long * 128n + BigInt((bytes[--at] ?? 0) & 127)
  return BigInt.asUintN(64, long)
}

const cutOffError = (): RangeError => new RangeError('a message of EventStoreDB is cut off, or is none')
