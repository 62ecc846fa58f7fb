import { z } from 'zod'
import { ServiceError } from '../errors/errors.ts'
import { faultMessage, inputFaults } from '../infra/input-faults.ts'

/** Text that is exactly a number, a boolean or a list of JSON. */
const SCALAR_OR_LIST = /^\s*(?:-?\d+(?:\.\d+)?|true|false|\[.*\])\s*$/s

/**
 * Arguments as their schema has them. Models fill what they leave unset with null or empty text, and write numbers and
 * lists as text: both are read as they were meant, where the schema takes nothing else there.
 *
 * @throws ServiceError `invalid_request`, naming each field that does not fit in `details.fields`
 */
export function toolArguments<Schema extends z.ZodType>(tool: string, schema: Schema, sent: unknown) {
  const asSent = schema.safeParse(sent)
  const parsed = asSent.success ? asSent : schema.safeParse(asMeant(schema, sent))
  // The schemas drop this one key where they refuse every other that they do not know.
  const isForeign = typeof sent === 'object' && sent !== null && Object.hasOwn(sent, '__proto__')
  if (parsed.success && !isForeign) return parsed.data
  const fields = isForeign
    ? [{ field: '__proto__', problem: 'is not a field of this tool' }]
    : inputFaults(parsed.error?.issues ?? [], 'the arguments', 'this tool', schema)
  throw new ServiceError('invalid_request', {
    message: `${tool}, ${faultMessage(fields)}`,
    details: { fields },
  })
}

/**
 * Without optional arguments that are null or empty, and with text as the number, boolean or list that it spells. An
 * argument that its schema takes is as it was sent.
 */
export function asMeant(schema: z.ZodType, sent: unknown): unknown {
  if (sent === null || sent === undefined) return {}
  if (!(schema instanceof z.ZodObject) || typeof sent !== 'object' || Array.isArray(sent)) return sent
  const shape = new Map<string, z.ZodType>(Object.entries(schema.shape))
  const meant = Object.entries(sent).flatMap(([name, value]): [string, unknown][] => {
    const field = shape.get(name)
    if (field === undefined || field.safeParse(value).success) return [[name, value]]
    if ((value === null || value === '') && field.safeParse(undefined).success) return []
    const spelt = spelling(value)
    return [[name, field.safeParse(spelt).success ? spelt : value]]
  })
  return Object.fromEntries(meant)
}

function spelling(value: unknown): unknown {
  if (typeof value !== 'string' || !SCALAR_OR_LIST.test(value)) return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}
