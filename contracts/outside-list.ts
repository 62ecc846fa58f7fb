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
