import { z } from 'zod'

/** A venue that does not answer, as anybody may know: nothing in it tells of addresses or errors of this machine. */
export const unreachableVenueSchema = z.object({
  exchange: z.string(),
  since: z.string().describe('ISO 8601'),
  reason: z.string().describe('The kind of error, such as `no such host`'),
})
export type UnreachableVenue = z.infer<typeof unreachableVenueSchema>

/** @example unreachableText({ … }) === 'OKX cannot be reached since 2026-03-03 12:00 UTC (no such host). It is tried again.' */
export const unreachableText = ({ exchange, since, reason }: UnreachableVenue): string =>
  `${exchange} cannot be reached since ${since.slice(0, 16).replace('T', ' ')} UTC (${reason}). It is tried again.`
