import { distance } from 'fastest-levenshtein'
import { z } from 'zod'

const sorted = (text: string): string => Array.from(text).toSorted().join('')

/** How many letters one word is away from another: added, left out or changed; two that are swapped are one slip. */
export function slips(a: string, b: string): number {
  const edits = distance(a, b)
  const isSwapped = edits === 2 && sorted(a) === sorted(b)
  return isSwapped ? 1 : edits
}

/** Letters added, left out or changed for which one name is still taken for another. */
const MOST_EDITS = 2
/** Digits of the longest count before a name, with the edits: `1000000MOG`. */
const MOST_DIFFERENCE = 9

const withoutCount = (text: string): string => text.toLowerCase().replace(/^10+/, '')

/**
 * The name that somebody most likely meant, in either case; the first of those that are equally near. Undefined where
 * none is near: a third of the letters may differ, and two at most. A name with a count before it (`1000PEPE`) is near.
 *
 * @example nearestName('BTCC', ['ETH', 'BTC']) === 'BTC'
 */
export function nearestName<Name extends string>(given: string, names: Iterable<Name>): Name | undefined {
  const written = withoutCount(given)
  let best: Name | undefined
  let fewest = Math.min(MOST_EDITS, Math.floor(given.length / 3)) + 1
  for (const name of names) {
    // The distance to a text of any length would take long.
    if (Math.abs(name.length - given.length) > MOST_DIFFERENCE) continue
    const edits = slips(written, withoutCount(name))
    if (edits < fewest) [best, fewest] = [name, edits]
  }
  return best
}

/** The end of a refusal that names what was likely meant; empty where nothing was. */
export const didYouMean = (meant: string | undefined): string =>
  meant === undefined ? '' : `; did you mean ${meant}?`

/** The refusal of a value outside a list, in the same words everywhere: they name the list and the likely value. */
export function outsideList({ code, values, input }: z.core.$ZodRawIssue): string | undefined {
  if (code !== 'invalid_value' || !Array.isArray(values) || values.length < 2 || input === undefined)
    return undefined
  const names = values.map(String)
  const meant = typeof input === 'string' ? nearestName(input, names) : undefined
  return `must be one of ${names.join(', ')}${didYouMean(meant)}`
}

const OUT_OF_BOUNDS = /^Too (?:small|big): expected \w+ to (have|be) ([<>]=?)(\S+)( \w+)?$/
const BOUNDS = { '>=': 'at least', '<=': 'at most', '>': 'more than', '<': 'less than' }

/** Words of the validator that name no value to give instead. */
const PLAIN: Readonly<Record<string, string>> = {
  'Invalid UUID': 'is not an id, as in 01a1fc5e-badc-7a0b-9593-25b8e98b0c7b',
  'Invalid ISO date': 'is not a date, as in 2026-01-31',
  'Invalid ISO datetime': 'is not an instant with its zone, as in 2026-01-31T12:00:00Z',
  'Invalid URL': 'is not an address, as in https://example.com',
}

/** The fault of a value, in words for people. */
export function problemOf(issue: { readonly message: string; readonly code: string }): string {
  if (issue.message.endsWith('received undefined')) return 'is missing'
  if (issue.message.endsWith('received NaN')) return 'is not a number'
  const [, verb, bound, least, unit = ''] = OUT_OF_BOUNDS.exec(issue.message) ?? []
  if (bound === '>=' && least === '1' && unit === ' characters') return 'must not be empty'
  if (bound !== undefined) return `must ${verb} ${BOUNDS[bound as keyof typeof BOUNDS]} ${least}${unit}`
  if (issue.code === 'invalid_type') return issue.message.replace(/^Invalid input: /, '')
  const { [issue.message]: plain } = PLAIN
  if (plain !== undefined) return plain
  // A schema with a pattern of its own says in words what it is.
  if (issue.message.startsWith('Invalid string: must match pattern'))
    return 'is not of the form that is expected'
  return issue.message
}

z.config({ customError: outsideList })

/** A schema's issue, as far as it matters here. */
export interface InputIssue {
  readonly code: string
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** Names of unknown fields. */
  readonly keys?: readonly string[]
}

/** A fault in one field of a request. */
export type InputFault = Readonly<Record<'field' | 'problem', string>>

/** Faults that a refusal lists, how many of them its message names, and how much it says of each. */
const FAULTS_LISTED = 20
const FAULTS_NAMED = 3
const FAULT_CHARACTERS = 200

/**
 * The faults of a request, in words for the caller: fields by the names they were given, without places in a list,
 * and no pattern of ours.
 *
 * @param whole what the request as a whole is called, as in `body`
 * @param owner whose fields they are, as in `this tool`
 * @param schema of the request, whose fields are suggested for one that was mistyped
 */
export function inputFaults(
  issues: readonly InputIssue[],
  whole: string,
  owner: string,
  schema?: unknown,
): InputFault[] {
  const names = schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
  const faults = issues.flatMap((issue) => {
    const path = issue.path.filter((part, index) => index === 0 || typeof part === 'string').map(String)
    if (issue.code !== 'unrecognized_keys') return [fault(path.join('.') || whole, problemOf(issue))]
    return (issue.keys ?? []).map((key) => {
      const meant = path.length === 0 ? nearestName(key, names) : undefined
      return fault([...path, key].join('.'), `is not a field of ${owner}${didYouMean(meant)}`)
    })
  })
  return faults.slice(0, FAULTS_LISTED)
}

const fault = (field: string, problem: string): InputFault => ({
  field: field.slice(0, FAULT_CHARACTERS).toWellFormed(),
  problem: problem.slice(0, FAULT_CHARACTERS).toWellFormed(),
})

/** The message of a refusal. @example faultMessage([{ field: 'coin', problem: 'is missing' }]) === 'coin: is missing' */
export const faultMessage = (faults: readonly InputFault[]): string =>
  faults
    .slice(0, FAULTS_NAMED)
    .map(({ field, problem }) => `${field}: ${problem}`)
    .join('; ')
