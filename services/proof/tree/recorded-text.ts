import { assert } from '../../../contracts/assert.ts'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { canonicalJson, type JsonObject } from '../../../contracts/json.ts'

/** Shapes that are known of one type and schema: with optional fields, and lists of several lengths. */
const MOST_SHAPES = 16
const LONGEST_TEXT = 8_192
const shapes = new Map<string, ReturnType<typeof shapeOf>[]>()

/**
 * The content of an event of the log as canonical JSON. The parts of a text of a known shape are put in order: no number is
 * written anew, which is most of the work, and nothing is parsed. Each adapter stores what `JSON.stringify` wrote.
 */
export function recordedText(event: RecordedEvent): string {
  const { id, type, schema, text = JSON.stringify(event.data) } = event
  return `{"data":${inOrder(text, event)},"id":"${id}","schema":${schema},"type":"${type}"}`
}

function inOrder(text: string, event: RecordedEvent): string {
  const kind = `${event.type} ${event.schema}`
  const known = shapes.get(kind) ?? []
  for (const [index, { pattern, order }] of known.entries()) {
    const values = pattern.exec(text)
    if (values === null) continue
    // Neighbours in the log are of one shape more often than not.
    if (index > 0) known.unshift(...known.splice(index, 1))
    let ordered = ''
    for (const part of order) ordered += typeof part === 'number' ? values[part] : part
    return ordered
  }
  const ordered = canonicalJson(event.data)
  const isPlain = text.length <= LONGEST_TEXT && !/[\\\uE000]/.test(text)
  if (isPlain && known.length < MOST_SHAPES) {
    shapes.set(kind, [shapeOf(text), ...known])
    assert(inOrder(text, event) === ordered, 'a text is put in order as its data is', kind)
  }
  return ordered
}

/**
 * The keys of a text and their places, for any values: a pattern with a group for each value, and the canonical text,
 * values by their group. Both come from the text with a mark in the place of each value.
 */
function shapeOf(text: string) {
  let values = 0
  const marked = JSON.parse(text, (_name, value: unknown) => {
    if (value !== null && typeof value === 'object') return value
    return `\uE000${typeof value === 'string' ? 's' : 'n'}${++values}`
  }) as JsonObject
  const pattern = JSON.stringify(marked)
    .replace(/[^\w"\uE000]/g, '\\$&')
    .replace(/"\uE000([sn])\d+"/g, (_mark, kind) => (kind === 's' ? '("[^"\\\\]*")' : '([^",[\\]{}]+)'))
  const order = canonicalJson(marked).split(/"\uE000[sn](\d+)"/)
  return {
    pattern: new RegExp(`^${pattern}$`),
    order: order.map((part, at) => (at % 2 === 1 ? Number(part) : part)),
  }
}
