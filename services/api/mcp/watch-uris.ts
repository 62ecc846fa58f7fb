import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { VerdictRow } from '../../../contracts/verdict-row.ts'
import { type FollowOptions, replayFilterOf, replayFilterParameters } from '../../analyst/index.ts'

/** A watch list as the address of a resource that can be listened to. */
export interface WatchUri {
  readonly uri: string
  readonly filter: FollowOptions['filter']
  readonly after: FollowOptions['after']
  /** Whether a verdict is told of. */
  readonly admits: (row: VerdictRow) => boolean
}

const { exchange, coin, timeframe, call, after } = replayFilterParameters
const callsSchema = z.strictObject({ exchange, coin, timeframe, call, after })
const shiftsSchema = z.strictObject({ exchange, coin, timeframe, after })

const SCHEMAS: Readonly<Record<string, { readonly schema: z.ZodType; readonly admits: WatchUri['admits'] }>> =
  {
    // What a webhook is sent: a HOLD is no news.
    calls: { schema: callsSchema, admits: ({ call: made }) => made !== 'HOLD' },
    'regime-shifts': { schema: shiftsSchema, admits: ({ shifted_from: from }) => from !== '' },
  }

/** What can be listened to, as templates of RFC 6570. */
export const WATCH_TEMPLATES = [
  {
    uriTemplate: 'signal://calls{?exchange,coin,timeframe,call,after}',
    name: 'calls',
    title: 'BUY and SELL calls as they are recorded',
    description:
      'For subscriptions/listen. Each list is separated by commas, and left out it means all. The row is in the notification; its cursor as `after` goes on behind it.',
    mimeType: 'application/json',
  },
  {
    uriTemplate: 'signal://regime-shifts{?exchange,coin,timeframe,after}',
    name: 'regime-shifts',
    title: 'Shifts of regimes as they are recorded',
    description: 'For subscriptions/listen, as the calls are.',
    mimeType: 'application/json',
  },
] as const

/**
 * Reads an address that can be listened to; undefined for another.
 *
 * @throws ServiceError `invalid_request` for one whose parameters do not fit
 * @example readWatchUri('signal://calls?coin=BTC,ETH&timeframe=1h')
 */
export function readWatchUri(uri: string): WatchUri | undefined {
  const [, kind = '', query = ''] = /^signal:\/\/(calls|regime-shifts)(?:\?(.*))?$/.exec(uri) ?? []
  const known = SCHEMAS[kind]
  if (known === undefined) return undefined
  if (uri.length > LIMITS.requestUrlCharacters)
    throw invalid(`has more than ${LIMITS.requestUrlCharacters} characters`)
  const pairs = [...new URLSearchParams(query)]
  if (new Set(pairs.map(([name]) => name)).size < pairs.length)
    throw invalid('names a parameter several times')
  const read = known.schema.safeParse(Object.fromEntries(pairs))
  if (!read.success) {
    const [issue] = read.error.issues
    throw invalid(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`)
  }
  const given = read.data as z.output<typeof callsSchema>
  return {
    uri,
    filter: replayFilterOf({ ...given, from: undefined, to: undefined }),
    after: given.after,
    admits: known.admits,
  }
}

function invalid(problem: string): ServiceError {
  const field = 'resourceSubscriptions'
  return new ServiceError('invalid_request', {
    message: `${field}: ${problem}`,
    details: { fields: [{ field, problem }] },
  })
}
