import { z } from 'zod'
import { coinParameter } from '../../../contracts/answers/parameters.ts'
import { canonicalTimeframe } from '../../../contracts/domain/common-names.ts'
import { EXCHANGES } from '../../../contracts/domain/series.ts'
import {
  CADENCES,
  type Sending,
  SIGNAL_TYPES,
  type SubscriptionFilter,
  topAssetSchema,
} from '../../../contracts/domain/subscription.ts'
import { TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'

const SEEN_CHARACTERS = 40

/** A refused value, shortened, as a refusal shows it. */
const seen = (input: unknown): string => {
  const text = JSON.stringify(input) ?? String(input)
  return text.length > SEEN_CHARACTERS ? `${text.slice(0, SEEN_CHARACTERS)}…` : text
}

/** The fault of a value, or that it is missing. */
const faulty =
  (problem: string) =>
  ({ input }: { readonly input?: unknown }): string =>
    input === undefined ? 'is missing' : `${seen(input)} ${problem}`

const oneOf = <const Value extends string>(values: readonly Value[]) =>
  z.enum(values, { error: faulty(`is not one of ${values.join(', ')}`) })

/** As people write it, shown as those there are. */
const oneTimeframe = z
  .string({ error: faulty(`is not one of ${TIMEFRAMES.join(', ')}`) })
  .overwrite(canonicalTimeframe)
  .meta({ enum: [...TIMEFRAMES] })
  .pipe(oneOf(TIMEFRAMES))

const wholeNumber = (from: number, to: number) => {
  const error = faulty(`is not a whole number from ${from} to ${to}`)
  return z.int({ error }).min(from, { error }).max(to, { error })
}

const listOf = <Item extends z.ZodType<string>>(item: Item, most: number) =>
  z
    .array(item, { error: faulty('is not a list') })
    .min(1, { error: 'the list is empty' })
    .max(most, { error: `the list has more than ${most} entries` })
    .refine((items) => new Set(items).size === items.length, { error: 'the list names something twice' })

const asset = z.union([topAssetSchema, coinParameter], {
  error: faulty('is neither a coin symbol, as BTC, nor top:N with N from 1 to 100'),
})

/** Fields of a filter, as the interface spells them. Null is the same as leaving a field out. */
export const filterFields = {
  events: listOf(oneOf(SIGNAL_TYPES), SIGNAL_TYPES.length).describe('What is sent'),
  timeframes: listOf(oneTimeframe, TIMEFRAMES.length)
    .nullish()
    .describe('Of trade calls and regime shifts; all without it'),
  assets: listOf(asset, LIMITS.subscriptionAssets)
    .nullish()
    .describe('Coin symbols, and `top:N` for the N largest of their exchange by volume; all without it'),
  exchanges: listOf(oneOf(EXCHANGES), EXCHANGES.length)
    .nullish()
    .describe('Of trade calls and regime shifts; all without it'),
  min_confidence: wholeNumber(0, 100)
    .nullish()
    .describe('Least confidence of trade calls and regime shifts. It lives in 50–60, so more sends nothing'),
  min_strength: wholeNumber(0, 100).nullish().describe('Least strength of trade calls'),
  only_changes: z
    .boolean({ error: faulty('is neither true nor false') })
    .nullish()
    .describe('One trade call when a series turns, instead of one for each bar that stays so'),
  timeframe: oneTimeframe.nullish().describe('Of scan_digest: timeframe of the scan'),
  exchange: oneOf(EXCHANGES).nullish().describe('Of scan_digest: venue of the scan'),
  top_n: wholeNumber(1, 100).nullish().describe('Of scan_digest: rows at most'),
  cadence: oneOf(CADENCES).nullish().describe('Of scan_digest: how often, aligned to UTC'),
}

/** How deliveries are sent, as the interface spells it. */
export const sendingFields = {
  max_per_second: wholeNumber(1, LIMITS.webhookPerSecond).nullish().describe('Attempts a second at most'),
  in_order: z.boolean().optional(),
}

export type SendingRequest = {
  readonly [Field in keyof typeof sendingFields]?: z.output<(typeof sendingFields)[Field]>
}

/** The choices of a request; what is left out is not there. */
export const readSending = ({ max_per_second, in_order }: SendingRequest): Partial<Sending> => ({
  ...(max_per_second !== undefined && { perSecond: max_per_second }),
  ...(in_order !== undefined && { inOrder: in_order }),
})

/** The same in the fields of the interface. */
export const toSendingFields = ({ perSecond, inOrder }: Sending) => ({
  max_per_second: perSecond,
  in_order: inOrder,
})

const filterRequest = z.strictObject(filterFields)
export type FilterRequest = z.output<typeof filterRequest>

/** Fields of a filter that are to be other ones; what is left out stays as it is. */
export const filterChangeSchema = z.strictObject({ ...filterFields, events: filterFields.events.optional() })
export type FilterChange = z.output<typeof filterChangeSchema>

const DIGEST_FIELDS = ['timeframe', 'exchange', 'top_n', 'cadence'] as const

/**
 * The filter that a request asks for. `scan_digest` and its four fields come together or not at all.
 *
 * @throws ServiceError `invalid_request`, naming each field that is missing or has no use
 * @example readFilter({ events: ['trade_call'], assets: ['top:10'] }).onlyChanges // false
 */
export function readFilter(request: FilterRequest): SubscriptionFilter {
  const { events } = request
  const asksForDigest = events.includes('scan_digest')
  const faults = DIGEST_FIELDS.filter(
    (field) => ((request[field] ?? undefined) !== undefined) !== asksForDigest,
  )
  if (faults.length > 0) {
    const problem = asksForDigest
      ? 'is needed for scan_digest'
      : 'has no use without scan_digest among the events'
    throw new ServiceError('invalid_request', {
      message: faults.map((field) => `${field}: ${problem}`).join('; '),
      details: { fields: faults.map((field) => ({ field, problem })) },
    })
  }
  const { timeframe, exchange, top_n: topN, cadence } = request
  return {
    events,
    timeframes: request.timeframes ?? null,
    assets: request.assets ?? null,
    exchanges: request.exchanges ?? null,
    minConfidence: request.min_confidence ?? 0,
    minStrength: request.min_strength ?? 0,
    onlyChanges: request.only_changes ?? false,
    digest: timeframe && exchange && topN && cadence ? { timeframe, exchange, topN, cadence } : null,
  }
}

/** A filter in the fields of the interface: inverse of {@link readFilter}. */
export const toFilterFields = (filter: SubscriptionFilter) => ({
  events: filter.events,
  timeframes: filter.timeframes,
  assets: filter.assets,
  exchanges: filter.exchanges,
  min_confidence: filter.minConfidence,
  min_strength: filter.minStrength,
  only_changes: filter.onlyChanges,
  timeframe: filter.digest?.timeframe ?? null,
  exchange: filter.digest?.exchange ?? null,
  top_n: filter.digest?.topN ?? null,
  cadence: filter.digest?.cadence ?? null,
})

/**
 * A filter with some of its fields changed. Who no longer asks for digests need not say so of their four fields.
 *
 * @throws ServiceError `invalid_request` as {@link readFilter}
 */
export function changeFilter(filter: SubscriptionFilter, change: FilterChange): SubscriptionFilter {
  const before = toFilterFields(filter)
  const events = change.events ?? filter.events
  const noDigest = { timeframe: null, exchange: null, top_n: null, cadence: null }
  const kept = events.includes('scan_digest') ? {} : noDigest
  return readFilter({ ...before, ...kept, ...change, events })
}
