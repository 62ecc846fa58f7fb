import { z } from 'zod'
import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { coinParameter } from '../../contracts/parameters.ts'
import { topAssetSchema } from '../../contracts/subscription.ts'
import type { VerdictRow } from '../../contracts/verdict-row.ts'
import { type FollowOptions, replayFilterOf, replayFilterParameters } from '../analyst/index.ts'

/** A watch list as the address of a resource that can be listened to. */
export interface WatchUri {
  readonly uri: string
  readonly filter: FollowOptions['filter']
  readonly after: FollowOptions['after']
  /** Whether a verdict is sent; asks for the rank of its coin only where that decides. */
  readonly admits: (row: VerdictRow, rank: () => Promise<number | undefined>) => Promise<boolean>
}

const { exchange, timeframe, call, after } = replayFilterParameters
const isTop = (text: string): boolean => topAssetSchema.safeParse(text).success
/** Coins and `top:N`, as `assets` of a webhook. */
const coin = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(z.union([topAssetSchema, coinParameter])).max(LIMITS.filterValues))
  .optional()
const percent = z
  .string()
  .regex(/^(?:100|\d{1,2})$/, 'must be a whole number from 0 to 100')
  .transform(Number)
  .default(0)
const shiftsSchema = z.strictObject({ exchange, coin, timeframe, min_confidence: percent, after })
const callsSchema = shiftsSchema.extend({ call, min_strength: percent })

type Asked = z.output<typeof callsSchema>

const SCHEMAS: Readonly<
  Record<string, { readonly schema: z.ZodType; readonly isNews: (row: VerdictRow, asked: Asked) => boolean }>
> = {
  // What a webhook is sent: a HOLD is no news.
  calls: {
    schema: callsSchema,
    isNews: ({ call: made, strength }, { min_strength: least }) => made !== 'HOLD' && strength >= least,
  },
  'regime-shifts': { schema: shiftsSchema, isNews: ({ shifted_from: from }) => from !== '' },
}

/** Addresses of resources with subscriptions, as templates of RFC 6570. */
export const WATCH_TEMPLATES = [
  {
    uriTemplate: 'signal://calls{?exchange,coin,timeframe,call,min_confidence,min_strength,after}',
    name: 'calls',
    title: 'BUY and SELL calls as they are recorded',
    description:
      'For subscriptions/listen. Each list is separated by commas, and left out it means all; `coin` also takes top:N, the N largest of an exchange. The row is in the notification with its number, which counts from 1 without a gap; its cursor as `after` goes on after it.',
    mimeType: 'application/json',
  },
  {
    uriTemplate: 'signal://regime-shifts{?exchange,coin,timeframe,min_confidence,after}',
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
  const { min_confidence: least, min_strength, coin: assets, ...given } = read.data as Asked
  const tops = assets?.filter(isTop).map((text) => Number(text.slice('top:'.length))) ?? []
  const coins = assets?.filter((text) => !isTop(text))
  const most = Math.max(0, ...tops)
  return {
    uri,
    // Who asks for the largest may be told of any coin.
    filter: replayFilterOf({ ...given, coin: most > 0 ? undefined : coins, from: undefined, to: undefined }),
    after: given.after,
    async admits(row, rank) {
      const asked = { ...given, coin: assets, min_confidence: least, min_strength }
      if (row.confidence < least || !known.isNews(row, asked)) return false
      if (most === 0 || coins?.includes(row.coin) === true) return true
      return ((await rank()) ?? Number.POSITIVE_INFINITY) <= most
    },
  }
}

function invalid(problem: string): ServiceError {
  const field = 'resourceSubscriptions'
  return new ServiceError('invalid_request', {
    message: `${field}: ${problem}`,
    details: { fields: [{ field, problem }] },
  })
}
