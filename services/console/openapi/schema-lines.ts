import type { Json, JsonObject } from '../../../contracts/json.ts'

/** One field of a JSON schema. */
export interface SchemaLine {
  /** `rows[].coin`; empty for the whole. */
  readonly path: string
  /** In short: `string`, `integer 1–200`, `"BUY" | "SELL"`, `one of 3 shapes`. */
  readonly type: string
  readonly isRequired: boolean
  readonly description: string
}

/** Nesting that is followed. */
const DEEPEST = 8
/** Values of an enumeration that are spelled out. */
const MOST_VALUES = 16

/**
 * The fields of a JSON schema, outer before inner, for people to read.
 *
 * @example schemaLines({ type: 'object', properties: { coin: { type: 'string' } }, required: ['coin'] })
 *   // the whole, and { path: 'coin', type: 'string', isRequired: true, description: '' }
 */
export function schemaLines(schema: JsonObject): readonly SchemaLine[] {
  const lines: SchemaLine[] = []
  visit(schema, '', true, 0, lines)
  return lines
}

function visit(
  schema: JsonObject,
  path: string,
  isRequired: boolean,
  depth: number,
  lines: SchemaLine[],
): void {
  const description = typeof schema.description === 'string' ? schema.description : ''
  if (path !== '' || description !== '' || propertiesOf(schema) === undefined) {
    lines.push({ path, type: typeOf(schema), isRequired, description })
  }
  if (depth >= DEEPEST) return
  for (const part of shapesOf(schema)) visitFields(part, path, depth, lines)
}

function visitFields(schema: JsonObject, path: string, depth: number, lines: SchemaLine[]): void {
  const required = new Set((schema.required ?? []) as unknown as readonly string[])
  for (const [name, field] of Object.entries(propertiesOf(schema) ?? {})) {
    visit(field, path === '' ? name : `${path}.${name}`, required.has(name), depth + 1, lines)
  }
  const items = schema.items as JsonObject | undefined
  if (items === undefined) return
  for (const shape of shapesOf(items)) visitFields(shape, `${path}[]`, depth + 1, lines)
}

const propertiesOf = (schema: JsonObject): Readonly<Record<string, JsonObject>> | undefined =>
  schema.properties as Readonly<Record<string, JsonObject>> | undefined

const alternativesOf = (schema: JsonObject): readonly JsonObject[] =>
  (schema.anyOf ?? schema.oneOf ?? []) as unknown as readonly JsonObject[]

/** A schema and the shapes it is made of: all of them where they hold together, the one that is not null else. */
function shapesOf(schema: JsonObject): readonly JsonObject[] {
  const joined = (schema.allOf ?? []) as unknown as readonly JsonObject[]
  const others = alternativesOf(schema).filter(({ type }) => type !== 'null')
  return [schema, ...joined.flatMap(shapesOf), ...others.flatMap(shapesOf)]
}

function typeOf(schema: JsonObject): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (Array.isArray(schema.enum)) {
    const values = schema.enum.map((value) => JSON.stringify(value))
    return values.length > MOST_VALUES ? `one of ${values.length} values` : values.join(' | ')
  }
  const alternatives = alternativesOf(schema)
  if (alternatives.length > 0) {
    const types = [...new Set(alternatives.map(typeOf))]
    return types.length > 3 ? `one of ${alternatives.length} shapes` : types.join(' | ')
  }
  if (schema.type === 'array') {
    return `${typeOf((schema.items ?? {}) as JsonObject)}[]`
  }
  const type = Array.isArray(schema.type) ? schema.type.join(' | ') : textOf(schema.type ?? 'any')
  const detail = schema.format === undefined ? rangeOf(schema) : ` ${textOf(schema.format)}`
  return `${type}${detail}`
}

function rangeOf({ minimum, maximum, minLength, maxLength }: JsonObject): string {
  const [least, most] = [minimum ?? minLength, maximum ?? maxLength]
  if (least === undefined && most === undefined) return ''
  if (most === undefined) return ` from ${textOf(least ?? '')}`
  return ` ${least === undefined ? 'up to ' : `${textOf(least)}–`}${textOf(most)}`
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))
