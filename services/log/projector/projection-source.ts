import type { EventPlace, RecordedEvent } from '../../../contracts/event.ts'
import { decodeEvent, requireReadable } from '../../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Position } from '../../../contracts/position.ts'
import type {
  DataProjection,
  PlaceProjection,
  RecordedProjection,
  Rows,
} from '../../../projections/projection.ts'
import type { EventStore, LookedAt, ReadPlacesOptions } from '../event-store.ts'

/** Events of the past that were looked at, matching or not, after which it is written down how far. */
const LOOKED_EVENTS = 20_000

/** Takes events that came, and all there is up to a position with them; false when that ends the reading. */
export type TakeEvents<Event extends EventPlace> = (events: readonly Event[], upTo: Position) => boolean

/** How a projection comes by its events, and what it does with one. */
export interface ProjectionSource<Event extends EventPlace> {
  /** Events of the past, some at a time; false where it was ended before all were taken. */
  readonly read: (options: PastOptions, take: TakeEvents<Event>) => Promise<boolean>
  /** The parts of a new event that the projection needs. */
  readonly of: (event: RecordedEvent) => Event
  /** @throws what the fold throws; ServiceError `event_unreadable` */
  readonly fold: (rows: Rows<JsonObject>, event: Event) => void
}

export type PastOptions = Pick<ReadPlacesOptions, 'after' | 'filter'> & {
  readonly upTo: Position
  readonly signal: AbortSignal
}

export const dataSource = (
  store: EventStore,
  projection: DataProjection | RecordedProjection,
): ProjectionSource<RecordedEvent> => ({
  async read(options, take) {
    let batch: RecordedEvent[] = []
    let looked = 0
    let goesOn = true
    const give = (upTo: Position): void => {
      goesOn &&= take(batch, upTo)
      batch = []
      looked = 0
    }
    // A reading that breaks goes on from here, also where nothing matched.
    const onLooked = async ({ upTo, events }: LookedAt): Promise<void> => {
      looked += events
      if (looked >= LOOKED_EVENTS) give(upTo)
    }
    for await (const event of store.readAll({ ...options, together: true, onLooked })) {
      if (!goesOn) return false
      batch.push(event)
      if (batch.length >= LIMITS.projectionBatchEvents) give(event.position)
    }
    if (options.signal.aborted) return false
    give(options.upTo)
    return goesOn
  },
  of: (event) => event,
  fold(rows, event) {
    if (projection.needs !== 'recorded') return projection.fold(rows, decodeEvent(event))
    requireReadable(event)
    projection.fold(rows, event)
  },
})

export const placeSource = (
  store: EventStore,
  projection: PlaceProjection,
): ProjectionSource<EventPlace> => ({
  async read(options, take) {
    let batch: EventPlace[] = []
    for await (const page of store.readPlaces({ ...options, together: true })) {
      batch.push(...page)
      const last = page.at(-1)
      if (last === undefined || batch.length < LIMITS.projectionBatchPlaces) continue
      if (!take(batch, last.position)) return false
      batch = []
    }
    return options.signal.aborted ? false : take(batch, options.upTo)
  },
  of: (event) => event,
  fold: (rows, event) => {
    requireReadable(event)
    projection.fold(rows, event)
  },
})
