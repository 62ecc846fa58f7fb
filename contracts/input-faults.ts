import { z } from 'zod'
import { didYouMean, nearestName } from './did-you-mean.ts'
import { outsideList, problemOf } from './value-problems.ts'

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
      const meant = path.length === 0 ? nearestName(key, names) : undefined
      return fault([...path, key].join('.'), `is not a field of ${owner}${didYouMean(meant)}`)
    })
  }
  return [fault(path.join('.') || whole, problemOf(issue))]
}

const fault = (field: string, problem: string): InputFault => ({
  field: field.slice(0, FAULT_CHARACTERS).toWellFormed(),
  problem: problem.slice(0, FAULT_CHARACTERS).toWellFormed(),
})
