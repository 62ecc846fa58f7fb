import { z } from 'zod'
import { coinSchema, exchangeSchema, marketName } from '../domain/series.ts'
import { timeframeSchema } from '../domain/timeframes.ts'
import { marketKindSchema } from '../events/event-catalogue.ts'
import { instantUtc as instant } from '../infra/field-schemas.ts'
import { LIMITS } from '../limits.ts'
import { nextSchema, pageCursor } from './parameters.ts'

/** The name of a market, after which the next page of markets begins. */
export const marketCursorSchema = pageCursor(
  new RegExp(`^[A-Z]{1,20}\\.[A-Z0-9]{1,${LIMITS.coinCharacters}}$`),
)

export const marketTimeframeSchema = z.object({
  timeframe: timeframeSchema,
  is_monitored: z.boolean().nullable().describe('Whether it is followed unasked; null: unknown'),
  bar_close: instant.nullable().describe('Close of the newest bar; null while the series is not followed'),
  data_age_ms: z.int().nonnegative().nullable().describe('Time since that bar closed, in market time'),
})

/** A coin on an exchange, and the timeframes in which it can be asked for, shortest first. */
export const marketRowSchema = z.object({
  exchange: exchangeSchema,
  coin: coinSchema,
  timeframes: z.array(marketTimeframeSchema),
})

export const marketsAnswerSchema = z.object({
  market: marketKindSchema,
  market_time: instant.describe('The present instant of this market'),
  exchanges: z.array(exchangeSchema).describe('Every exchange of this service, filtered or not'),
  rows: z.array(marketRowSchema).describe('Ordered by exchange, then coin'),
  next: nextSchema,
})
export type MarketsAnswer = z.infer<typeof marketsAnswerSchema>
export type MarketRow = z.infer<typeof marketRowSchema>

/** @example marketCursor({ exchange: 'SIM', coin: 'BTC' }) === 'SIM.BTC' */
export const marketCursor = (row: Pick<MarketRow, 'exchange' | 'coin'>): string => marketName(row)
