import type { RecordedEvent, Revision } from '../../../contracts/event.ts'
import type { Position } from '../../../contracts/position.ts'
import type { ReadOptions } from '../event-store.ts'
import {
  encodeMessage,
  type Field,
  message,
  numberIn,
  type Place,
  placeIn,
  placesIn,
  textIn,
} from './wire-format.ts'

export interface ReadRequest {
  /** The whole log without it. */
  readonly stream?: string
  readonly from: Revision | Field | 'start' | 'end'
  readonly direction?: ReadOptions['direction']
  readonly maxCount?: number
  /** Subscribes to what is not in the server's own streams; it says how far it is after so many events. */
  readonly searchWindow?: number
}

/** Writes a `ReadReq`; ids are to be texts. */
export function encodeRead({ stream, from, direction, maxCount, searchWindow }: ReadRequest): Buffer {
  const first = stream === undefined ? 2 : 3
  const named = from === 'start' || from === 'end' ? message(from === 'start' ? first : first + 1) : from
  const place: Field = typeof named === 'number' ? [2, named] : named
  const source = stream === undefined ? message(2, place) : message(1, message(1, [3, stream]), place)
  const part: Field[] =
    searchWindow === undefined
      ? [[3, direction === 'backwards' ? 1 : 0], [5, maxCount ?? Number.MAX_SAFE_INTEGER], message(8)]
      : [message(6), message(7, message(1, [1, '^[^$]']), [3, searchWindow], [5, 1])]
  return encodeMessage([message(1, source, ...part, message(9, message(2)))])
}

/** An answer to a read or a subscription; nothing follows from `other` here. */
export type ReadAnswer = ServerEvent | 'caught-up' | 'other'

/**
 * Reads a `ReadResp`. The package's own code makes an object of each part, copies each text, and parses all JSON. @throws
 * RangeError for a message that is cut off
 */
export function decodeAnswer(bytes: Buffer): ReadAnswer {
  const whole: Place = [0, bytes.length]
  // The event, and not the link to it.
  const event = placeIn(bytes, whole, 1, 1)
  if (event !== undefined) return new ServerEvent(bytes, event)
  return placeIn(bytes, whole, 8) === undefined ? 'other' : 'caught-up'
}

/** An event as the server has it. Its JSON is read when somebody asks. */
export class ServerEvent {
  readonly stream: string
  readonly type: string
  readonly isJson: boolean
  readonly revision: Revision
  readonly position: Position
  /** The service's own event, once it was read. */
  recorded: RecordedEvent | undefined
  readonly #bytes: Buffer
  readonly #place: Place
  /** In tenths of microseconds. */
  readonly #created: string

  constructor(bytes: Buffer, place: Place) {
    this.#bytes = bytes
    this.#place = place
    this.stream = textIn(bytes, place, 2, 3)
    if (this.stream === '') throw new RangeError('an event of EventStoreDB has no stream')
    this.revision = Number(numberIn(bytes, place, 3))
    this.position = `${numberIn(bytes, place, 5)}/${numberIn(bytes, place, 4)}`
    const properties = new Map<string, string>()
    for (const one of placesIn(bytes, place, 6)) properties.set(textIn(bytes, one, 1), textIn(bytes, one, 2))
    this.type = properties.get('type') ?? ''
    this.isJson = properties.get('content-type') === 'application/json'
    this.#created = properties.get('created') ?? ''
  }

  /** When the server wrote it, ISO 8601. */
  get created(): string {
    return new Date(Number(this.#created.slice(0, -4)) || 0).toISOString()
  }

  get data(): string {
    return textIn(this.#bytes, this.#place, 8)
  }

  get metadata(): string {
    return textIn(this.#bytes, this.#place, 7)
  }
}
