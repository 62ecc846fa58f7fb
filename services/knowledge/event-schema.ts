import { z } from 'zod'
import { EVENT_CATALOGUE } from '../../contracts/events/event-catalogue.ts'
import type { EventDefinition } from '../../contracts/events/event-definition.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'

/**
 * The JSON Schema of an event's `data` in its newest version; undefined for a type that no event has.
 *
 * @example eventSchema('VerdictRecorded')?.title === 'VerdictRecorded'
 */
export function eventSchema(type: string): JsonObject | undefined {
  const definition = Object.values<EventDefinition>(EVENT_CATALOGUE).find((one) => one.type === type)
  if (definition === undefined) return undefined
  const { schema, stream, summary, data } = definition
  const title = { title: type, description: summary, 'x-schema-version': schema, 'x-stream': stream }
  return { ...title, ...(z.toJSONSchema(data) as JsonObject) }
}
