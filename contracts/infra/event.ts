import { z } from 'zod'
import type { JsonObject } from './json.ts'
import type { Position } from './position.ts'

/** The origin of an event. */
export const eventMetaSchema = z.strictObject({
  /** Everything that one request or one bar caused shares this. */
  correlationId: z.string().min(1).max(128),
  /** The event or request that caused this one. */
  causationId: z.string().min(1).max(128).optional(),
  /** Which part of the service, or whose request, appended it. */
  actor: z.string().min(1).max(128),
  /** W3C trace context. */
  traceparent: z.string().max(128).optional(),
})
export type EventMeta = z.infer<typeof eventMetaSchema>

/** On whose behalf something happens. */
export type Origin = Pick<EventMeta, 'correlationId' | 'actor'>

/** Dense, from 0, per stream. */
export type Revision = number

/** An event on its way to the log. */
export interface NewEvent {
  /** A UUID; the same fact keeps its id over every retry. */
  readonly id: string
  /** Past tense: `VerdictRecorded`. */
  readonly type: string
  /** Version of the data's schema, from 1. */
  readonly schema: number
  readonly data: JsonObject
  readonly meta: EventMeta
}

/** Place and type of an event in the log, without its data. */
export interface EventPlace {
  readonly id: string
  readonly type: string
  readonly schema: number
  readonly stream: string
  readonly revision: Revision
  readonly position: Position
}

/** An event in the log. */
export interface RecordedEvent extends NewEvent, EventPlace {
  /** When it was appended, ISO 8601 in UTC. */
  readonly at: string
  /** Its data as the store has it, where that is at hand. */
  readonly text?: string
}
