import { z } from 'zod'
import { isoTime } from '../domain/iso-time.ts'
import { type Outcome, RACE_OUTCOMES } from '../domain/outcome.ts'
import { coinSchema, exchangeSchema, seriesSchema } from '../domain/series.ts'
import { timeframeSchema } from '../domain/timeframes.ts'
import { callSchema, forecastFields, regimeSchema, type Verdict } from '../domain/verdict.ts'
import { type MarketKind, marketKindSchema } from '../events/event-catalogue.ts'
import { count, instantUtc as instant } from '../infra/field-schemas.ts'
import { nextSchema } from './parameters.ts'

/** How a decided verdict did: a HOLD, and a race that no barrier won, is neither won nor lost. */
export const RESULTS = ['won', 'lost', 'undecided'] as const
export type Result = (typeof RESULTS)[number]

/** @example resultOf({ call: 'BUY', race: 'up' }) === 'won' */
export function resultOf({ call, race }: Pick<Outcome, 'call' | 'race'>): Result {
  if (call === 'HOLD' || race === 'timeout' || race === 'incomplete') return 'undecided'
  return race === (call === 'BUY' ? 'up' : 'down') ? 'won' : 'lost'
}

/** On a live market a verdict is what callers pay for until its window closes; on others nothing can be traded. */
export const isShown = (market: MarketKind, { validUntil }: Pick<Verdict, 'validUntil'>, now: number) =>
  market !== 'live' || validUntil <= now

/** A verdict whose window has closed, and what became of it. */
export const decidedSchema = z.object({
  verdict_id: z.uuid(),
  bar_close: instant,
  valid_until: instant,
  call: callSchema,
  confidence: count.describe('Percent'),
  race: z.enum(RACE_OUTCOMES).describe('Which barrier came first'),
  result: z.enum(RESULTS),
})
export type DecidedRow = z.infer<typeof decidedSchema>

export const decidedRow = (outcome: Outcome): DecidedRow => ({
  verdict_id: outcome.verdictId,
  bar_close: isoTime(outcome.barClose),
  valid_until: isoTime(outcome.validUntil),
  call: outcome.call,
  confidence: Math.round(100 * Math.max(outcome.probability, 1 - outcome.probability)),
  race: outcome.race,
  result: resultOf(outcome),
})

/** The newest verdict of a series. */
export const boardRowSchema = z.object({
  ...seriesSchema.shape,
  bar_close: instant.describe('Close of its newest bar with a verdict, ISO 8601, UTC'),
  is_fresh: z.boolean().describe('Whether no bar is missing after it that should be there by now'),
  regime: regimeSchema,
  regime_since: instant,
  verdict: z
    .object({
      verdict_id: z.uuid(),
      call: callSchema,
      confidence: count.describe('Percent'),
      strength: count,
      price: z.number(),
      expected_range: forecastFields.expected_range,
      valid_until: instant,
      is_open: z.boolean().describe('Whether its window is open'),
    })
    .nullable()
    .describe('The newest; null where its window is open on a live market: ask `get_trade_call` for it'),
  decided: decidedSchema.nullable().describe('The newest whose window has closed; null before the first'),
  decided_call: decidedSchema.nullable().describe('The newest BUY or SELL among those'),
})
export type BoardRow = z.infer<typeof boardRowSchema>

export const boardAnswerSchema = z.object({
  market: marketKindSchema,
  market_time: instant.describe('The present instant of this market'),
  series: count.describe('All series, filtered or not'),
  exchanges: z.array(exchangeSchema).describe('Of all of them'),
  coins: z.array(coinSchema),
  timeframes: z.array(timeframeSchema).describe('Shortest first'),
  matching: count.describe('Series that fit what was asked for'),
  calls: z.object({ BUY: count, SELL: count, HOLD: count }).describe('Shown verdicts among those'),
  rows: z.array(boardRowSchema).describe('BUY and SELL first, the most confident before others'),
  next: nextSchema,
})
export type BoardAnswer = z.infer<typeof boardAnswerSchema>
