import type { z } from 'zod'
import { didYouMean, nearestName } from './did-you-mean.ts'

/** The refusal of a value outside a list, in the same words everywhere: they name the list and the likely value. */
export function outsideList({ code, values, input }: z.core.$ZodRawIssue): string | undefined {
  if (code !== 'invalid_value' || !Array.isArray(values) || values.length < 2 || input === undefined)
    return undefined
  const names = values.map(String)
  const meant = typeof input === 'string' ? nearestName(input, names) : undefined
  return `must be one of ${names.join(', ')}${didYouMean(meant)}`
}

const OUT_OF_BOUNDS = /^Too (?:small|big): expected \w+ to (have|be) ([<>]=?)(\S+)( \w+)?$/
const BOUNDS: Readonly<Record<string, string>> = {
  '>=': 'at least',
  '<=': 'at most',
  '>': 'more than',
  '<': 'less than',
}

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
  if (bound !== undefined) return `must ${verb} ${BOUNDS[bound]} ${least}${unit}`
  if (issue.code === 'invalid_type') return issue.message.replace(/^Invalid input: /, '')
  const { [issue.message]: plain } = PLAIN
  if (plain !== undefined) return plain
  // A schema with a pattern of its own says in words what it is.
  if (issue.message.startsWith('Invalid string: must match pattern'))
    return 'is not of the form that is expected'
  return issue.message
}
