import type { EventPlace, RecordedEvent } from '../../contracts/event.ts'
import { fromLatin1 } from '../../contracts/latin1.ts'
import type { Position } from '../../contracts/position.ts'

/** An event whose JSON is parsed when somebody reads it. */
export class UnparsedEvent implements RecordedEvent {
  readonly id: string
  readonly stream: string
  readonly revision: number
  readonly position: Position
  readonly type: string
  readonly schema: number
  readonly at: string
  readonly latin1: string | undefined
  #text: string | undefined
  readonly #meta: string | RecordedEvent['meta']

  constructor(
    place: Omit<EventPlace, 'position'> & Pick<RecordedEvent, 'at'>,
    position: Position,
    text: string,
    meta: string | RecordedEvent['meta'],
    isLatin1 = false,
  ) {
    this.id = place.id
    this.stream = place.stream
    this.revision = place.revision
    this.position = position
    this.type = place.type
    this.schema = place.schema
    this.at = place.at
    this.latin1 = isLatin1 ? text : undefined
    this.#text = isLatin1 ? undefined : text
    this.#meta = meta
  }

  get text(): string {
    return (this.#text ??= fromLatin1(this.latin1 ?? ''))
  }

  get data(): RecordedEvent['data'] {
    return JSON.parse(this.text) as RecordedEvent['data']
  }

  get meta(): RecordedEvent['meta'] {
    return typeof this.#meta === 'string' ? (JSON.parse(this.#meta) as RecordedEvent['meta']) : this.#meta
  }
}
