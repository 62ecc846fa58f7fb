import type { EventPlace, RecordedEvent } from '../../contracts/infra/event.ts'

interface StoredTexts extends Omit<EventPlace, 'position'>, Pick<RecordedEvent, 'at'> {
  readonly position: number
  readonly data: string
  readonly meta: string
}

/** An event whose JSON is parsed when somebody reads it. */
export class LazyEvent implements RecordedEvent {
  readonly id: string
  readonly stream: string
  readonly revision: number
  readonly position: string
  readonly type: string
  readonly schema: number
  readonly at: string
  readonly text: string
  readonly #meta: string

  constructor(row: StoredTexts) {
    this.id = row.id
    this.stream = row.stream
    this.revision = row.revision
    this.position = String(row.position)
    this.type = row.type
    this.schema = row.schema
    this.at = row.at
    this.text = row.data
    this.#meta = row.meta
  }

  get data(): RecordedEvent['data'] {
    return JSON.parse(this.text) as RecordedEvent['data']
  }

  get meta(): RecordedEvent['meta'] {
    return JSON.parse(this.#meta) as RecordedEvent['meta']
  }
}
