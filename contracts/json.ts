/** Values that can be written to the log and read back unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }

/**
 * The first fault of a value that does not survive a round trip as JSON; undefined for one that does. Faults are bigint, undefined, NaN,
 * infinities, functions, class instances, sparse arrays, keys that are symbols, lone surrogates, and nesting
 * past a limit. Hidden properties and names on an array are not looked for: it would cost more than the rest.
 *
 * @returns a path and a reason.
 * @example jsonFault({ a: [1, NaN] }, 32) === '$.a[1]: NaN is not JSON'
 */
export function jsonFault(value: unknown, maxDepth: number): string | undefined {
  const fault = faultIn(value, maxDepth)
  return fault === undefined ? undefined : `$${fault}`
}

/** The path is put together on the way out of a fault, so that sound data costs no text. */
function faultIn(value: unknown, maxDepth: number): string | undefined {
  switch (typeof value) {
    case 'boolean':
      return undefined
    case 'string':
      return value.isWellFormed() ? undefined : ': text with a lone surrogate is not JSON'
    case 'number':
      return Number.isFinite(value) ? undefined : `: ${value} is not JSON`
    case 'object':
      if (value === null) return undefined
      if (maxDepth === 0) return ': nested too deeply'
      return Array.isArray(value) ? arrayFault(value, maxDepth) : objectFault(value, maxDepth)
    default:
      return `: ${typeof value} is not JSON`
  }
}

function arrayFault(values: readonly unknown[], maxDepth: number): string | undefined {
  if (Object.getPrototypeOf(values) !== Array.prototype) return ': not a plain array'
  for (let index = 0; index < values.length; index++) {
    const fault = faultIn(values[index], maxDepth - 1)
    if (fault !== undefined) return `[${index}]${fault}`
  }
  return undefined
}

function objectFault(value: object, maxDepth: number): string | undefined {
  const prototype = Object.getPrototypeOf(value) as unknown
  if (prototype !== Object.prototype && prototype !== null) return ': not a plain object'
  if (Object.getOwnPropertySymbols(value).length > 0) return ': a key that is a symbol is not JSON'
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return ': the key __proto__ is refused'
    if (!key.isWellFormed()) return ': a key with a lone surrogate is not JSON'
    const fault = faultIn((value as Record<string, unknown>)[key], maxDepth - 1)
    if (fault !== undefined) return `.${key}${fault}`
  }
  return undefined
}

/**
 * JSON with the keys of every object in order, so that equal values have equal text. Every entry of a tree passes here: the
 * engine writes a sorted copy at half of the cost of putting texts together.
 */
export function canonicalJson(value: Json): string {
  const copy = sortedCopy(value)
  return copy === UNSORTABLE ? textInOrder(value) : JSON.stringify(copy)
}

const UNSORTABLE = Symbol('unsortable')
type Copy = Json | typeof UNSORTABLE

/** The same with its keys in order; not where an object cannot hold them so. */
function sortedCopy(value: Json): Copy {
  if (value === null || typeof value !== 'object') return value
  if (isArray(value)) {
    const copies = value.map(sortedCopy)
    return copies.includes(UNSORTABLE) ? UNSORTABLE : (copies as Json[])
  }
  const keys = sortedKeys(value)
  if (keys === undefined) return UNSORTABLE
  const copy: Record<string, Json> = {}
  for (const key of keys) {
    const part = sortedCopy(value[key] ?? null)
    if (part === UNSORTABLE) return UNSORTABLE
    copy[key] = part
  }
  return copy
}

/** Objects of one kind have the same keys, and come again with each event; what strangers send is not all kept. */
const MOST_ORDERS = 1_024
const orders = new Map<string, { readonly keys: readonly string[]; readonly sorted: readonly string[] }>()

/** Undefined where an object would put them in another order, or lose one: whole numbers come first in it. */
function sortedKeys(value: JsonObject): readonly string[] | undefined {
  const keys = Object.keys(value)
  const kind = `${keys.length} ${keys[0]}`
  const known = orders.get(kind)
  if (known?.keys.every((key, index) => key === keys[index])) return known.sorted
  const sorted = keys.toSorted()
  if (sorted.some((key) => key === '__proto__' || /^\d/.test(key))) return undefined
  if (orders.size < MOST_ORDERS || known !== undefined) orders.set(kind, { keys, sorted })
  return sorted
}

function textInOrder(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isArray(value)) return `[${value.map(textInOrder).join(',')}]`
  const members = Object.keys(value).toSorted()
  return `{${members.map((key) => `${JSON.stringify(key)}:${textInOrder(value[key] ?? null)}`).join(',')}}`
}

const isArray = (value: readonly Json[] | JsonObject): value is readonly Json[] => Array.isArray(value)
