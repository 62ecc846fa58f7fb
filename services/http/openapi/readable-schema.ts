import type { Json, JsonObject } from '../../../contracts/json.ts'

/** Formats that say more than their pattern does. */
const FORMATS: readonly Json[] = ['date-time', 'date', 'uuid', 'uri', 'email']

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * A generated JSON schema as people and other generators can use it: without the patterns of formats, the bounds of
 * whole numbers in JavaScript, and the name of its dialect, which is the document's. The one recursive schema is that
 * of any JSON, which the generator refers to by a name that the document does not have: it becomes the
 * empty schema, which says the same. Answers may grow by fields
 * within a version, so theirs do not forbid further ones.
 *
 * @param place what the schema is of.
 */
export function readableSchema(schema: JsonObject, place: 'request' | 'answer' = 'request'): JsonObject {
  const clean = (value: Json, isSchema: boolean): Json => {
    if (Array.isArray(value)) return (value as readonly Json[]).map((item) => clean(item, isSchema))
    if (!isObject(value)) return value
    if (isSchema && typeof value.$ref === 'string') return {}
    const entries = Object.entries(value)
      .filter(([name, part]) => !isSchema || !isNoise(name, part, value, place))
      // Values that are given as they are hold no schemas; those of `properties` are schemas under any name.
      .map(([name, part]) => [
        name,
        isSchema && VALUES.has(name) ? part : clean(part, !(isSchema && NAMED.has(name))),
      ])
    return Object.fromEntries(entries) as JsonObject
  }
  return clean(schema, true) as JsonObject
}

/** Properties of characters are read by few other dialects of patterns; the route checks them, and says so in words. */
const isOfScriptsOnly = (pattern: Json): boolean => typeof pattern === 'string' && pattern.includes('\\p{')

const VALUES: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'required'])
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties'])

function isNoise(name: string, part: Json, schema: JsonObject, place: 'request' | 'answer'): boolean {
  if (name === '$schema' || name === '$defs') return true
  if (name === 'pattern') return FORMATS.includes(schema.format ?? null) || isOfScriptsOnly(part)
  if (name === 'maximum') return part === Number.MAX_SAFE_INTEGER
  if (name === 'minimum') return part === Number.MIN_SAFE_INTEGER
  return name === 'additionalProperties' && place === 'answer' && part === false
}
