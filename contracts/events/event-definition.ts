import type { z } from 'zod'
import { ServiceError } from '../errors/errors.ts'
import type { EventPlace, NewEvent, RecordedEvent } from '../infra/event.ts'
import type { JsonObject } from '../infra/json.ts'

/** Brings data of a former schema, whose number is given, to the current one. Pure, and never changed once released. */
export type Upcast = (data: JsonObject, from: number) => JsonObject

/** The catalogue's entry of one event type. */
export interface EventDefinition<Type extends string = string, Data extends JsonObject = JsonObject> {
  readonly type: Type
  /** Version that is written today. */
  readonly schema: number
  readonly stream: string
  /** One sentence for the documentation. */
  readonly summary: string
  readonly data: z.ZodType<Data>
  /** For each definition whose schema is above 1. */
  readonly upcast?: Upcast | undefined
}

/** A decoded event: upcast to the current schema and typed by its definition. */
export type EventOf<Definition> =
  Definition extends EventDefinition<infer Type, infer Data>
    ? Omit<RecordedEvent, 'type' | 'data'> & { readonly type: Type; readonly data: Data }
    : never

/** @param stream which one it is appended to, as a pattern for the documentation */
export function defineEvent<const Type extends string, Data extends JsonObject>(
  type: Type,
  stream: string,
  described: { schema?: number; summary: string; data: z.ZodType<Data>; upcast?: Upcast },
): EventDefinition<Type, Data> {
  const { schema = 1, upcast: former } = described
  if (schema > 1 && former === undefined)
    throw new TypeError(`${type}: nothing brings data of a schema before ${schema} to it`)
  return { ...described, type, stream, schema }
}

type EventParts<Data> = Pick<NewEvent, 'id' | 'meta'> & { readonly data: Data }

/**
 * Makes an event of the current schema, with its data checked: what is in the log has passed here, so
 * readers need no second look.
 */
export function newEvent<Type extends string, Data extends JsonObject>(
  definition: EventDefinition<Type, Data>,
  event: EventParts<Data>,
): NewEvent {
  const checked = definition.data.safeParse(event.data)
  if (!checked.success) {
    const issue = checked.error.issues[0]
    throw new ServiceError('event_invalid', {
      message: `${definition.type} at ${issue?.path.join('.') || '$'}: ${issue?.message ?? 'not valid'}`,
    })
  }
  return builtEvent(definition, { ...event, data: checked.data })
}

/**
 * An event of data that its maker put together itself, field by field, of what was checked before. Nothing of anybody
 * else may be in it: this takes it as it is, since the check of a hundred attempts a millisecond would cost a tenth of them.
 */
export const builtEvent = <Type extends string, Data extends JsonObject>(
  { type, schema }: EventDefinition<Type, Data>,
  { id, data, meta }: EventParts<Data>,
): NewEvent => ({ id, type, schema, data, meta })

/**
 * Brings a recorded event to the current schema. Data that is already current is trusted, because it was
 * checked before it was appended; data of a former schema is checked here.
 *
 * @throws ServiceError `event_unreadable` for a schema newer than this release knows, or a faulty upcast.
 */
export function upcast(event: RecordedEvent, definition: EventDefinition): RecordedEvent {
  if (event.schema === definition.schema) return event
  requireKnownSchema(event, definition)
  try {
    if (definition.upcast === undefined) throw new TypeError(`${event.type} has no upcast`)
    const data = definition.data.parse(definition.upcast(event.data, event.schema))
    return { ...event, meta: event.meta, schema: definition.schema, data }
  } catch (cause) {
    throw new ServiceError('event_unreadable', {
      message: `${event.type} at position ${event.position} cannot be brought from schema ${event.schema} to ${definition.schema}`,
      cause,
    })
  }
}

/** @throws ServiceError `event_unreadable` for a schema newer than this release knows. */
export function requireKnownSchema(event: EventPlace, definition: EventDefinition): void {
  if (Number.isInteger(event.schema) && event.schema >= 1 && event.schema <= definition.schema) return
  throw new ServiceError('event_unreadable', {
    message: `${event.type} at position ${event.position} has schema ${event.schema}; this release reads up to ${definition.schema}`,
  })
}
