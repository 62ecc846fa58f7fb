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
 * Reads JSON of others, which editors and programs on Windows begin with a byte order mark. Of a name that stands twice in an
 * object another program may read the other value, so it is refused.
 *
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  const json = text.replace(/^\uFEFF/, '')
  const value: unknown = JSON.parse(json)
  const fault = repetitionIn(json)
  if (fault === undefined) return value
  throw new SyntaxError(fault)
}

/** Says which name an object has twice, in text that is JSON; its value would show the last one only. Undefined for none. */
export function repetitionIn(json: string): string | undefined {
  const objects: Set<string>[] = []
  for (let at = 0; at < json.length; at++) {
    const mark = json[at]
    if (mark === '{') objects.push(new Set())
    else if (mark === '}') objects.pop()
    if (mark !== '"') continue
    const start = at
    while (json[++at] !== '"') if (json[at] === '\\') at++
    const token = json.slice(start, at + 1)
    while (SPACES.has(json[at + 1] ?? '')) at++
    if (json[at + 1] !== ':') continue
    const name = token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1)
    const names = objects.at(-1)
    if (names?.has(name)) return `the name ${JSON.stringify(name.slice(0, 64))} stands twice in one object`
    names?.add(name)
  }
  return undefined
}

const SPACES: ReadonlySet<string> = new Set([' ', '\t', '\n', '\r'])

/** JSON with the keys of every object in order: equal values have equal text. */
export function canonicalJson(value: Json): string {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  let members = ''
  for (const key of Object.keys(value).toSorted())
    members += `${members === '' ? '' : ','}${quotedKey(key)}:${canonicalJson(value[key] ?? null)}`
  return `{${members}}`
}

/** Quoted keys of events: to quote them anew takes half of the time. */
const quotedKeys = new Map<string, string>()
const MOST_KEYS = 1_000

function quotedKey(key: string): string {
  const quoted = quotedKeys.get(key) ?? JSON.stringify(key)
  if (quotedKeys.size < MOST_KEYS) quotedKeys.set(key, quoted)
  return quoted
}

const isArray = (value: readonly Json[] | JsonObject): value is readonly Json[] => Array.isArray(value)

/** The JSON text of an object, as it is recorded and as it is sent. */
export class JsonText {
  readonly text: string
  readonly #shorter: JsonText | undefined
  #quoted: string | undefined

  /** @param text well-formed JSON @param shorter the same without its last members */
  constructor(text: string, shorter?: JsonText) {
    this.text = text
    this.#shorter = shorter
  }

  /** The text within another JSON text: in quotes, and escaped. */
  get quoted(): string {
    const [shorter, length] = [this.#shorter?.quoted ?? '"}"', this.#shorter?.text.length ?? 1]
    this.#quoted ??= shorter.slice(0, -2) + JSON.stringify(this.text.slice(length - 1)).slice(1)
    return this.#quoted
  }

  /** The text with further members at its end, for an object that has some. @param members `"a":1,"b":2` */
  with(members: string): JsonText {
    return new JsonText(`${this.text.slice(0, -1)},${members}}`, this)
  }
}

const texts = new WeakMap<object, JsonText>()

/** The text of an object that does not change: made once. @param given its text, where it is at hand */
export function textOf(object: object, given?: JsonText): JsonText {
  const text = given ?? texts.get(object) ?? new JsonText(JSON.stringify(object))
  texts.set(object, text)
  return text
}
