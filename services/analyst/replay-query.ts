import { z } from 'zod'
import {
  coinParameter,
  exchangeParameter,
  instantFault,
  instantParameter,
  isInstant,
  rowsParameter,
  timeframeParameter,
} from '../../contracts/answers/parameters.ts'
import { callSchema } from '../../contracts/domain/verdict.ts'
import { isPosition, type Position, START } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { ReplayFilter } from './replay-filter.ts'
import { positionOfCursor } from './shown-rows.ts'

const listOf = <Item extends z.ZodType<unknown, string>>(item: Item) =>
  z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(item).max(LIMITS.filterValues))
    .optional()

/** An ISO 8601 instant or date as text, read as Unix milliseconds. */
export const instantSchema = instantParameter.transform((text) => Date.parse(text)).optional()

/** Three positions of EventStoreDB, two instants and what stands between them. */
const FORMER_CURSOR_CHARACTERS = 192
const FORMER_CURSOR = /^[^~]+~[^~]+~\d/

const cursor = z
  .string()
  .max(FORMER_CURSOR_CHARACTERS)
  .transform((text, context): Position => {
    const position = positionOfCursor(text)
    if (position !== undefined) return position
    context.addIssue(
      FORMER_CURSOR.test(text)
        ? 'is a cursor of an earlier release, whose rows came in another order: read again from the beginning, without `after`'
        : 'must be the `cursor` of a row',
    )
    return z.NEVER
  })
  .optional()

const logPoint = z
  .string()
  .max(64)
  .transform((text, context): Position | Date => {
    if (isPosition(text)) return text
    if (isInstant(text)) return new Date(text)
    context.addIssue(instantFault(text, 'must be a position or an ISO 8601 instant'))
    return z.NEVER
  })
  .optional()

/** Which verdicts a replay shows, as text: the same names over HTTP and, with hyphens, as flags. */
export const replayFilterParameters = {
  exchange: listOf(exchangeParameter).describe('Exchange codes, separated by commas'),
  coin: listOf(coinParameter).describe('Coin symbols, separated by commas'),
  timeframe: listOf(timeframeParameter).describe('Timeframes, separated by commas'),
  call: listOf(callSchema).describe('BUY, SELL or HOLD, or several of them separated by commas'),
  from: instantSchema.describe('Bars that close at this instant or later: a date or an instant, ISO 8601'),
  to: instantSchema.describe('Bars that close before this instant'),
  after: cursor.describe('Rows after this one: the `cursor` of a row'),
}

/** All that can be asked of a replay that ends. */
export const replayParameters = {
  ...replayFilterParameters,
  as_of: logPoint.describe('The log as it was: a position, a date or an instant'),
  limit: rowsParameter(LIMITS.replayEvents),
}

export type ReplayFilterQuery = z.output<z.ZodObject<typeof replayFilterParameters>>
export type ReplayQuery = z.output<z.ZodObject<typeof replayParameters>>

/** The contradiction between the parts of a query, or undefined. */
export const replayQueryFault = ({ from, to }: ReplayFilterQuery): string | undefined =>
  from !== undefined && to !== undefined && from >= to ? 'from: must be before to' : undefined

/** The filter of a query that was read. */
export function replayFilterOf(query: ReplayFilterQuery): ReplayFilter {
  return {
    ...(query.exchange && { exchanges: query.exchange }),
    ...(query.coin && { coins: query.coin }),
    ...(query.timeframe && { timeframes: query.timeframe }),
    ...(query.call && { calls: query.call }),
    ...(query.from !== undefined && { from: query.from }),
    ...(query.to !== undefined && { to: query.to }),
  }
}

/** The part of a replay's options that a query says. */
export const replayOptionsOf = (query: ReplayQuery) => ({
  filter: replayFilterOf(query),
  after: query.after ?? START,
  ...(query.as_of !== undefined && { upTo: query.as_of }),
  limit: query.limit,
})
