import { z } from 'zod'
import { didYouMean, nearestName } from './nearest-name.ts'

// A value outside a list is refused in the same words everywhere: they name the list and the likely value.
z.config({
  customError({ code, values, input }) {
    if (code !== 'invalid_value' || !Array.isArray(values) || values.length < 2 || input === undefined)
      return undefined
    const names = values.map(String)
    const lower = names.map((name) => name.toLowerCase())
    const given = typeof input === 'string' ? input.toLowerCase() : ''
    const meant = names[lower.indexOf(nearestName(given, lower) ?? '')]
    return `must be one of ${names.join(', ')}${didYouMean(meant)}`
  },
})

/** Words for one thing, of which a request has one or none. */
const SYNONYMS: readonly (readonly string[])[] = [
  ['coin', 'coins', 'assets', 'asset', 'symbol', 'symbols', 'ticker', 'pair'],
  ['timeframe', 'timeframes', 'interval', 'period', 'resolution'],
  ['exchange', 'exchanges', 'venue', 'market'],
  ['limit', 'count', 'size', 'rows'],
]

/** A schema's issue, as far as it matters here. */
export interface InputIssue {
  readonly code: string
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** Names of unknown fields. */
  readonly keys?: readonly string[]
}

/** A fault in one field of a request. */
export interface InputFault {
  readonly [name: string]: string
  readonly field: string
  readonly problem: string
}

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
export const inputFaults = (
  issues: readonly InputIssue[],
  whole: string,
  owner: string,
  schema?: unknown,
): InputFault[] =>
  issues
    .flatMap((issue) => faultsIn(issue, { whole, owner, names: fieldsOf(schema) }))
    .slice(0, FAULTS_LISTED)

const fieldsOf = (schema: unknown): string[] =>
  schema instanceof z.ZodObject ? Object.keys(schema.shape) : []

/** The message of a refusal. @example faultMessage([{ field: 'coin', problem: 'is missing' }]) === 'coin: is missing' */
export const faultMessage = (faults: readonly InputFault[]): string =>
  faults
    .slice(0, FAULTS_NAMED)
    .map(({ field, problem }) => `${field}: ${problem}`)
    .join('; ')

interface About {
  readonly whole: string
  readonly owner: string
  readonly names: readonly string[]
}

function faultsIn(issue: InputIssue, { whole, owner, names }: About): InputFault[] {
  const path = issue.path.filter((part, index) => index === 0 || typeof part === 'string').map(String)
  if (issue.code === 'unrecognized_keys') {
    return (issue.keys ?? []).map((key) => {
      const meant = path.length === 0 ? meantName(key, names) : undefined
      return fault([...path, key].join('.'), `is not a field of ${owner}${didYouMean(meant)}`)
    })
  }
  return [fault(path.join('.') || whole, problemOf(issue))]
}

/** A name that is near, the only one that is abbreviated so (`tf` for `timeframe`), or another word for the same. */
function meantName(key: string, names: readonly string[]): string | undefined {
  const given = key.toLowerCase()
  const longer = names.filter((name) => given.length > 1 && abbreviates(given, name))
  const kin = SYNONYMS.find((words) => words.includes(given))
  const same = kin && names.find((name) => kin.includes(name))
  return nearestName(given, names) ?? (longer.length === 1 ? longer[0] : undefined) ?? same
}

function abbreviates(given: string, name: string): boolean {
  let at = 0
  for (const letter of name) if (letter === given[at]) at += 1
  return at === given.length && given[0] === name[0]
}

function problemOf(issue: InputIssue): string {
  if (issue.message.endsWith('received undefined')) return 'is missing'
  if (issue.message.endsWith('received NaN')) return 'is not a number'
  if (issue.code === 'invalid_type') return issue.message.replace(/^Invalid input: /, '')
  // Who makes a pattern of its own says in words what it is.
  if (issue.message.startsWith('Invalid string: must match pattern'))
    return 'is not of the form that is expected'
  return issue.message
}

const fault = (field: string, problem: string): InputFault => ({
  field: field.slice(0, FAULT_CHARACTERS).toWellFormed(),
  problem: problem.slice(0, FAULT_CHARACTERS).toWellFormed(),
})
