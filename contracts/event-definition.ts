import type { z } from 'zod'
import { ServiceError } from './errors.ts'
import type { EventPlace, NewEvent, RecordedEvent } from './event.ts'
import type { JsonObject } from './json.ts'

/** Turns data of one schema version into data of the next. Pure, and never changed once released. */
export type Upcaster = (data: JsonObject) => JsonObject

/**
 * Turns data of one schema version into data of the one before, for processes of an older release that read the same log.
 * Undefined where the older one cannot say it.
 */
export type Downcaster = (data: JsonObject) => JsonObject | undefined

/** The catalogue's entry of one event type. */
export interface EventDefinition<Type extends string = string, Data extends JsonObject = JsonObject> {
  readonly type: Type
  /** Version that is written today. */
  readonly schema: number
  /** Which stream it is appended to, as a pattern for the documentation. */
  readonly stream: string
  /** One sentence for the documentation. */
  readonly summary: string
  readonly data: z.ZodType<Data>
  /** `upcasters[n]` turns data of version n into version n + 1; every version below `schema` has one. */
  readonly upcasters: Readonly<Record<number, Upcaster>>
  /** Which format of the log each version came with; the first where nothing is said. */
  readonly formats: Readonly<Record<number, number>>
  /** `downcasters[n]` turns data of version n into version n − 1; every version of a later format than the one before has one. */
  readonly downcasters: Readonly<Record<number, Downcaster>>
}

/** A decoded event: upcast to the current schema and typed by its definition. */
export type EventOf<Definition> =
  Definition extends EventDefinition<infer Type, infer Data>
    ? Omit<RecordedEvent, 'type' | 'data'> & { readonly type: Type; readonly data: Data }
    : never

export function defineEvent<const Type extends string, Data extends JsonObject>(definition: {
  type: Type
  schema?: number
  stream: string
  summary: string
  data: z.ZodType<Data>
  upcasters?: Readonly<Record<number, Upcaster>>
  formats?: Readonly<Record<number, number>>
  downcasters?: Readonly<Record<number, Downcaster>>
}): EventDefinition<Type, Data> {
  const { schema = 1, upcasters = {}, formats = {}, downcasters = {}, ...rest } = definition
  for (let version = 1; version < schema; version++) {
    if (upcasters[version] === undefined) {
      throw new TypeError(`${definition.type}: no upcaster from schema ${version} to ${version + 1}`)
    }
  }
  for (let version = 2; version <= schema; version++) {
    if ((formats[version] ?? 1) > (formats[version - 1] ?? 1) && downcasters[version] === undefined)
      throw new TypeError(`${definition.type}: no downcaster from schema ${version} to ${version - 1}`)
  }
  return { ...rest, schema, upcasters, formats, downcasters }
}

interface EventParts<Data> {
  id: string
  data: Data
  meta: NewEvent['meta']
}

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
 * checked before it was appended; data that an upcaster made is checked here.
 *
 * @throws ServiceError `event_unreadable` for a schema newer than this release knows, or a faulty upcast.
 */
export function upcast(event: RecordedEvent, definition: EventDefinition): RecordedEvent {
  if (event.schema === definition.schema) return event
  requireKnownSchema(event, definition)
  try {
    let data = event.data
    for (let version = event.schema; version < definition.schema; version++) {
      const step = definition.upcasters[version]
      if (step === undefined) throw new TypeError(`${event.type}: no upcaster from schema ${version}`)
      data = step(data)
    }
    // An upcaster that changed nothing has left it as it was checked.
    if (data !== event.data) data = definition.data.parse(data)
    return { ...event, schema: definition.schema, data }
  } catch (cause) {
    throw new ServiceError('event_unreadable', {
      message: `${event.type} at position ${event.position} cannot be brought from schema ${event.schema} to ${definition.schema}`,
      cause,
    })
  }
}

/** @throws ServiceError `event_unreadable` for a schema newer than this release knows. */
export function requireKnownSchema(event: EventPlace, definition: EventDefinition): void {
  if (event.schema <= definition.schema && event.schema >= 1) return
  throw new ServiceError('event_unreadable', {
    message: `${event.type} at position ${event.position} has schema ${event.schema}; this release reads up to ${definition.schema}`,
  })
}
