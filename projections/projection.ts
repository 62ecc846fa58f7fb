import type { EventType, ServiceEvent } from '../contracts/events/event-catalogue.ts'
import type { RecordedEvent } from '../contracts/infra/event.ts'
import type { JsonObject } from '../contracts/infra/json.ts'

/** The rows of a read model while an event is folded into them. */
export interface Rows<Row extends JsonObject> {
  get(key: string): Row | undefined
  put(key: string, row: Row): void
  delete(key: string): void
}

/**
 * A read model: keyed rows that follow from the log and nothing else. A fold sees events in log order, has
 * no clock and no randomness, and reads only its own rows, so that building it anew gives the same rows.
 */
export type Projection<Row extends JsonObject = JsonObject> = DataProjection<Row> | RecordedProjection<Row>

interface Folding<Row extends JsonObject, Event> {
  /** Lower case and underscores; part of a table name. */
  readonly name: string
  /** Raised whenever the fold or the shape of its rows changes: the rows of another version are dropped and built anew. */
  readonly version: number
  /** The events it is made of; others never reach it. */
  readonly events: readonly EventType[]
  /** Folds one event. What it throws stops the projection at this event; nothing is skipped. */
  fold(rows: Rows<Row>, event: Event): void
}

/** Made of what its events say. */
export interface DataProjection<Row extends JsonObject = JsonObject> extends Folding<Row, ServiceEvent> {
  readonly needs?: 'data'
}

/** Folds events exactly as they were appended, without upcasting them. */
export interface RecordedProjection<Row extends JsonObject = JsonObject> extends Folding<Row, RecordedEvent> {
  readonly needs: 'recorded'
}

/** Rows in a plain map, for tests and for folds that need no disk. */
export function rowsInMemory<Row extends JsonObject>(): Rows<Row> & { readonly entries: Map<string, Row> } {
  const entries = new Map<string, Row>()
  return {
    entries,
    get: (key) => entries.get(key),
    put: (key, row) => void entries.set(key, row),
    delete: (key) => void entries.delete(key),
  }
}
