import { assert } from '../../../contracts/assert.ts'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { canonicalJson, type JsonObject } from '../../../contracts/json.ts'

/** Shapes that are known of one type and schema: with optional fields, and lists of several lengths. */
const MOST_SHAPES = 16
const LONGEST_TEXT = 8_192
const shapes = new Map<string, Shape[]>()

/** A text as UTF-8, with room behind it for a look that runs on; the same put in order; where its values begin and end. */
const source = Buffer.alloc(8 * LONGEST_TEXT)
const target = Buffer.alloc(8 * LONGEST_TEXT)
const viewOf = ({ buffer, byteOffset, byteLength }: Buffer) => new DataView(buffer, byteOffset, byteLength)
const [read, written] = [viewOf(source), viewOf(target)]
const [begins, ends] = [new Int32Array(LONGEST_TEXT), new Int32Array(LONGEST_TEXT)]
const WORD = 4
const HEAD = '{"data":'
const [QUOTE, BACKSLASH] = Buffer.from('"\\')
/** 1 for each byte of numbers, `true`, `false` and `null`. */
const IN_NUMBER = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(/[\w.+-]/.test(String.fromCharCode(byte))),
)

/** The bytes between values, one after the other; where each part of them ends, and the value that follows it. */
type Layout = { readonly bytes: DataView; readonly ends: Int32Array; readonly values: Int32Array }

/** The keys of a text and their places, for any values: as it is stored, and in canonical order. */
type Shape = { readonly stored: Layout; readonly ordered: Layout }

/**
 * The content of an event of the log as canonical JSON in UTF-8, valid until the next call. The parts of a text of a known
 * shape are put in order as bytes: no number is written anew, which is most of the work, and nothing is parsed. Each adapter
 * stores what `JSON.stringify` wrote.
 */
export function recordedJson(event: RecordedEvent): Buffer {
  const { id, type, schema, text = JSON.stringify(event.data) } = event
  const end = text.length > LONGEST_TEXT ? 0 : inOrder(text, event)
  const tail = `,"id":"${id}","schema":${schema},"type":"${type}"}`
  if (end === 0) return Buffer.from(HEAD + canonicalJson(event.data) + tail)
  return target.subarray(0, end + target.write(tail, end))
}

/** Puts a text in order. @returns where it ends in the target; 0 where its shape is not known */
function inOrder(text: string, event: RecordedEvent): number {
  const length = source.write(text)
  const kind = `${event.type} ${event.schema}`
  const known = shapes.get(kind) ?? []
  const index = known.findIndex(({ stored }) => fits(length, stored))
  // Neighbours in the log are of one shape more often than not.
  if (index > 0) known.unshift(...known.splice(index, 1))
  if (known[0] !== undefined && index >= 0) return putInOrder(known[0].ordered)
  if (known.length >= MOST_SHAPES || /[\\\uE000]/.test(text)) return 0
  const shape = shapeOf(text)
  shapes.set(kind, [shape, ...known])
  const end = fits(length, shape.stored) ? putInOrder(shape.ordered) : 0
  const isOrdered = end === 0 || target.toString('utf8', HEAD.length, end) === canonicalJson(event.data)
  assert(isOrdered, 'a text is put in order as its data is', kind)
  return end
}

/** Whether the text in the source is of a shape; finds its values. Loops over bytes are quicker here than all that is built in. */
function fits(length: number, { bytes, ends: parts, values }: Layout): boolean {
  for (let [at, byte, part] = [0, 0, 0]; ; part++) {
    const end = parts[part] ?? 0
    for (; byte + WORD <= end; byte += WORD, at += WORD)
      if (read.getInt32(at) !== bytes.getInt32(byte)) return false
    while (byte < end) if (source[at++] !== bytes.getUint8(byte++)) return false
    if (part === values.length) return at === length
    begins[part] = at
    if (source[at] === QUOTE) {
      while (source[++at] !== QUOTE) if (source[at] === BACKSLASH || at >= length) return false
      at += 1
    } else while (at < length && IN_NUMBER[source[at] ?? 0] === 1) at += 1
    ends[part] = at
  }
}

function putInOrder({ bytes, ends: parts, values }: Layout): number {
  for (let [at, part] = [0, 0]; ; part++) {
    at = put(at, bytes, parts[part - 1] ?? 0, parts[part] ?? 0)
    if (part === values.length) return at
    const value = values[part] ?? 0
    at = put(at, read, begins[value] ?? 0, ends[value] ?? 0)
  }
}

/** Copies words: the last may reach into what comes next, and is written over by it. @returns where the copy ends */
function put(to: number, from: DataView, begin: number, end: number): number {
  for (let at = begin; at < end; at += WORD) written.setInt32(to + at - begin, from.getInt32(at))
  return to + end - begin
}

/** The shape of a text without escapes, by the text with a mark in the place of each value. */
function shapeOf(text: string): Shape {
  let values = 0
  const marked = JSON.parse(text, (_name, value: unknown) =>
    value !== null && typeof value === 'object' ? value : `\uE000${values++}`,
  ) as JsonObject
  return { stored: layoutOf(JSON.stringify(marked)), ordered: layoutOf(HEAD + canonicalJson(marked)) }
}

function layoutOf(marked: string): Layout {
  const parts = Array.from(marked.split(/"\uE000\d+"/), (part) => Buffer.from(part))
  let end = 0
  return {
    bytes: viewOf(Buffer.concat([...parts, Buffer.alloc(WORD)])),
    ends: Int32Array.from(parts, ({ length }) => (end += length)),
    values: Int32Array.from(marked.matchAll(/\uE000(\d+)/g), ([, mark]) => Number(mark)),
  }
}
