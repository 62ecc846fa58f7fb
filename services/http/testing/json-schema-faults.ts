import type { JsonObject } from '../../../contracts/infra/json.ts'

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const typeName = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (Number.isInteger(value)) return 'integer'
  return typeof value
}

/** The faults of a value under a JSON schema, by the keywords that are used here. */
export function jsonSchemaFaults(value: unknown, schema: JsonObject, at = '$'): string[] {
  const faults: string[] = []
  const types = schema.type === undefined ? undefined : [schema.type].flat().map(String)
  const type = typeName(value)
  if (types !== undefined && !types.includes(type) && !(type === 'integer' && types.includes('number'))) {
    return [`${at} is ${type}, not ${types.join(' or ')}`]
  }
  if (Array.isArray(schema.enum) && !schema.enum.includes(value)) faults.push(`${at} is not in the enum`)
  if (schema.const !== undefined && schema.const !== value)
    faults.push(`${at} is not ${JSON.stringify(schema.const)}`)
  if (typeof value === 'number' && value < Number(schema.minimum ?? value)) faults.push(`${at} is too small`)
  if (typeof value === 'number' && value > Number(schema.maximum ?? value)) faults.push(`${at} is too large`)
  if (
    typeof value === 'string' &&
    typeof schema.pattern === 'string' &&
    !new RegExp(schema.pattern, 'u').test(value)
  ) {
    faults.push(`${at} does not match ${schema.pattern}`)
  }
  if (schema.format === 'date-time' && typeof value === 'string' && Number.isNaN(Date.parse(value))) {
    faults.push(`${at} is no instant`)
  }
  if (Array.isArray(value) && isObject(schema.items)) {
    const { items } = schema
    faults.push(...value.flatMap((item, n) => jsonSchemaFaults(item, items, `${at}[${n}]`)))
  }
  if (isObject(value)) faults.push(...objectFaults(value, schema, at))
  const all = (schema.allOf ?? []) as unknown as readonly JsonObject[]
  faults.push(...all.flatMap((one) => jsonSchemaFaults(value, one, at)))
  const any = (schema.anyOf ?? []) as unknown as readonly JsonObject[]
  const tries = any.map((one) => jsonSchemaFaults(value, one, at))
  if (tries.length > 0 && tries.every(({ length }) => length > 0)) faults.push(...(tries[0] ?? []))
  return faults
}

function objectFaults(value: JsonObject, schema: JsonObject, at: string): string[] {
  const properties = (schema.properties ?? {}) as Record<string, JsonObject>
  const required = (schema.required ?? []) as unknown as readonly string[]
  const missing = required
    .filter((name) => !Object.hasOwn(value, name))
    .map((name) => `${at}.${name} is missing`)
  const inside = Object.entries(value).flatMap(([name, part]) => {
    const own = properties[name]
    if (own !== undefined) return jsonSchemaFaults(part, own, `${at}.${name}`)
    if (isObject(schema.additionalProperties)) {
      return jsonSchemaFaults(part, schema.additionalProperties, `${at}.${name}`)
    }
    return schema.additionalProperties === false ? [`${at}.${name} is not known`] : []
  })
  return [...missing, ...inside]
}
