import type { EventPlace, RecordedEvent } from '../../../contracts/event.ts'
import { decodeEvent, requireReadable } from '../../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { DataProjection, PlaceProjection, Rows } from '../../../projections/projection.ts'
import { pagesOf } from '../async/pages-of.ts'
import type { EventStore, ReadPlacesOptions } from '../event-store/event-store.ts'

/** How a projection comes by its events, and what it does with one. */
export interface ProjectionSource<Event extends EventPlace> {
  /** Events that are folded in one transaction. */
  readonly batch: number
  /** Events of the past, some at a time. */
  readonly read: (options: ReadPlacesOptions) => AsyncIterable<readonly Event[]>
  /** What the projection needs of an event that has just come. */
  readonly of: (event: RecordedEvent) => Event
  /** @throws what the fold throws; ServiceError `event_unreadable` */
  readonly fold: (rows: Rows<JsonObject>, event: Event) => void
}

export const dataSource = (
  store: EventStore,
  projection: DataProjection,
): ProjectionSource<RecordedEvent> => ({
  batch: LIMITS.projectionBatchEvents,
  read: (options) => pagesOf(store.readAll(options), LIMITS.projectionBatchEvents),
  of: (event) => event,
  fold: (rows, event) => projection.fold(rows, decodeEvent(event)),
})

export const placeSource = (
  store: EventStore,
  projection: PlaceProjection,
): ProjectionSource<EventPlace> => ({
  batch: LIMITS.projectionBatchPlaces,
  read: (options) => store.readPlaces(options),
  of: (event) => event,
  fold: (rows, event) => {
    requireReadable(event)
    projection.fold(rows, event)
  },
})
