import type { z } from 'zod'
import { ServiceError } from '../errors/errors.ts'
import type { NewEvent, RecordedEvent } from '../infra/event.ts'
import type { JsonObject } from '../infra/json.ts'

/** The catalogue's entry of one event type. */
export interface EventDefinition<Type extends string = string, Data extends JsonObject = JsonObject> {
  readonly type: Type
  /** Version that is written, and the only one that is read. */
  readonly schema: number
  readonly stream: string
  /** One sentence for the documentation. */
  readonly summary: string
  readonly data: z.ZodType<Data>
}

/** A recorded event, typed by its definition. */
export type EventOf<Definition> =
  Definition extends EventDefinition<infer Type, infer Data>
    ? Omit<RecordedEvent, 'type' | 'data'> & { readonly type: Type; readonly data: Data }
    : never

/** @param stream which one it is appended to, as a pattern for the documentation */
export const defineEvent = <const Type extends string, Data extends JsonObject>(
  type: Type,
  stream: string,
  described: Pick<EventDefinition<Type, Data>, 'summary' | 'data'>,
): EventDefinition<Type, Data> => ({ type, schema: 1, stream, ...described })

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
