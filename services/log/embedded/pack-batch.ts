import type { EncodedAppend, EncodedEvent } from '../encode-append.ts'
import type { ExpectedRevision } from '../event-store.ts'

/**
 * A batch as one list of texts and numbers: of objects a thread is handed the name of every member again, which for
 * small appends costs more than what they say.
 */
export type PackedBatch = readonly (string | number)[]

/** Packs of each append the stream, expected revision, bytes and number of events; of each event its five members. */
export function packBatch(batch: readonly EncodedAppend[]): PackedBatch {
  const packed: (string | number)[] = []
  for (const { stream, expected, bytes, events } of batch) {
    packed.push(stream, expected, bytes, events.length)
    for (const { id, type, schema, data, meta } of events) packed.push(id, type, schema, data, meta)
  }
  return packed
}

/** Inverse of {@link packBatch}. */
export function unpackBatch(packed: PackedBatch): EncodedAppend[] {
  const batch: EncodedAppend[] = []
  let at = 0
  while (at < packed.length) {
    const stream = packed[at++] as string
    const expected = packed[at++] as ExpectedRevision
    const bytes = packed[at++] as number
    const events: EncodedEvent[] = []
    for (let left = packed[at++] as number; left > 0; left--) {
      const id = packed[at++] as string
      const type = packed[at++] as string
      const schema = packed[at++] as number
      const data = packed[at++] as string
      const meta = packed[at++] as string
      events.push({ id, type, schema, data, meta })
    }
    batch.push({ stream, expected, events, bytes })
  }
  return batch
}
