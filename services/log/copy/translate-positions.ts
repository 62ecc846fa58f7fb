import type { Position } from '../../../contracts/position.ts'
import type { EncodedEvent } from '../validate-append.ts'

/** Streams whose events name positions of the log, and the members that hold them. */
const WITH_POSITIONS = ['delivery-', 'subscription-'] as const
export const POSITION_MEMBERS: ReadonlySet<string> = new Set(['after', 'position', 'startAfter'])

/** An event that names positions of another store. The manifest of a sealed day stays as it is: its hash was published. */
export async function translated<Event extends Pick<EncodedEvent, 'data'> & { readonly stream: string }>(
  event: Event,
  translate: (position: Position) => Promise<Position>,
): Promise<Event> {
  if (!WITH_POSITIONS.some((prefix) => event.stream.startsWith(prefix))) return event
  const positions = new Map<string, Position>()
  const isPosition = (name: string, value: unknown): value is string =>
    POSITION_MEMBERS.has(name) && typeof value === 'string'
  const data: unknown = JSON.parse(event.data, (name, value: unknown) => {
    if (isPosition(name, value)) positions.set(value, value)
    return value
  })
  for (const position of positions.keys()) positions.set(position, await translate(position))
  const inOther = (name: string, value: unknown) => (isPosition(name, value) ? positions.get(value) : value)
  return { ...event, data: JSON.stringify(data, inOther) }
}
