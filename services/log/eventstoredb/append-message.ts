import { assert } from '../../../contracts/assert.ts'
import type { ExpectedRevision } from '../event-store.ts'
import type { ProposedEvent } from './recorded-event.ts'

/** Bytes of tags, lengths and names that a request holds at most beside its texts, and each of its events. */
const [REQUEST_BYTES, EVENT_BYTES] = [64, 96]
/** What follows the number of a field in its tag. */
const [NUMBER, BYTES] = [0, 2]
const EXPECTED = { 'no-stream': 3, any: 4, 'stream-exists': 5 } as const

/**
 * The message `BatchAppendReq` of `streams.proto`. The package's own code makes an object for each part of it, and takes
 * four times as long. It is written from its end to its beginning, since the length of a part stands before it.
 */
export function encodeRequest(
  id: string,
  stream: string,
  events: readonly ProposedEvent[],
  expected: ExpectedRevision,
): Buffer {
  let size = REQUEST_BYTES + id.length + Buffer.byteLength(stream)
  for (const { id: own, type, data, metadata } of events)
    size +=
      EVENT_BYTES +
      own.length +
      Buffer.byteLength(type) +
      Buffer.byteLength(data) +
      Buffer.byteLength(metadata)
  const bytes = Buffer.allocUnsafe(size)
  let at = size
  const number = (value: number): void => {
    let length = 1
    for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) length++
    at -= length
    let rest = value
    for (let index = 0; index < length; index++, rest = Math.floor(rest / 128))
      bytes[at + index] = (rest % 128) + (index < length - 1 ? 128 : 0)
  }
  const tag = (field: number, kind: number): void => {
    bytes[--at] = field * 8 + kind
  }
  const part = (field: number, write: () => void): void => {
    const end = at
    write()
    number(end - at)
    tag(field, BYTES)
  }
  const text = (field: number, value: string): void => {
    const length = Buffer.byteLength(value)
    at -= length
    bytes.write(value, at)
    number(length)
    tag(field, BYTES)
  }
  const header = (name: string, value: string): void =>
    part(2, () => {
      text(2, value)
      text(1, name)
    })

  number(1)
  tag(4, NUMBER)
  for (const event of events.toReversed())
    part(3, () => {
      text(4, event.data)
      text(3, event.metadata)
      header('content-type', 'application/json')
      header('type', event.type)
      part(1, () => text(2, event.id))
    })
  part(2, () => {
    if (typeof expected === 'number') {
      number(expected)
      tag(2, NUMBER)
    } else part(EXPECTED[expected], () => undefined)
    part(1, () => text(3, stream))
  })
  part(1, () => text(2, id))
  assert(at >= 0, 'a request fits where it is written', at)
  return bytes.subarray(at)
}
