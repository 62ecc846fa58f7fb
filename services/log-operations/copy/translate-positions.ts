import type { Json } from '../../../contracts/json.ts'
import type { Position } from '../../../contracts/position.ts'
import type { EncodedEvent } from '../../log/encode-append.ts'

/** Streams whose events name positions of the log, and the members that hold them. */
const WITH_POSITIONS = ['delivery-', 'subscription-'] as const
export const POSITION_MEMBERS: ReadonlySet<string> = new Set(['after', 'position', 'startAfter'])

/**
 * An event with the positions that it names in the terms of another store. (The manifest of a sealed day names some too, as
 * text whose hash was published: it stays as it is.)
 */
export async function translated<Event extends Pick<EncodedEvent, 'data'> & { readonly stream: string }>(
  event: Event,
  translate: (position: Position) => Promise<Position>,
): Promise<Event> {
  if (!WITH_POSITIONS.some((prefix) => event.stream.startsWith(prefix))) return event
  return { ...event, data: JSON.stringify(await translatedIn(JSON.parse(event.data) as Json, translate)) }
}

async function translatedIn(
  value: Json,
  translate: (position: Position) => Promise<Position>,
): Promise<Json> {
  if (Array.isArray(value)) {
    const items: Json[] = []
    for (const item of value) items.push(await translatedIn(item, translate))
    return items
  }
  if (value === null || typeof value !== 'object') return value
  const members: [string, Json][] = []
  for (const [name, member] of Object.entries(value)) {
    const isPosition = POSITION_MEMBERS.has(name) && typeof member === 'string'
    members.push([name, isPosition ? await translate(member) : await translatedIn(member, translate)])
  }
  return Object.fromEntries(members)
}
