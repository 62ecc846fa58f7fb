import { z } from 'zod'
import { percent } from '../infra/field-schemas.ts'
import { LIMITS } from '../limits.ts'
import { coinSchema, exchangeSchema } from './series.ts'
import { timeframeSchema } from './timeframes.ts'

/** Types of webhook signals. */
export const SIGNAL_TYPES = ['trade_call', 'regime_shift', 'scan_digest'] as const
export type SignalType = (typeof SIGNAL_TYPES)[number]

/** How often a digest is sent, aligned to UTC. */
export const CADENCES = ['1h', '4h', '1d'] as const
export type Cadence = (typeof CADENCES)[number]

export const SUBSCRIPTION_STATES = ['active', 'paused', 'disabled', 'stopped', 'removed'] as const
export type SubscriptionState = (typeof SUBSCRIPTION_STATES)[number]

/** `top:N`: the N largest coins of the signal's exchange, by 24-hour volume as last ranked before the signal. */
export const topAssetSchema = z.string().regex(/^top:([1-9]\d?|100)$/)

/** Which signals a subscription asks for. Null means all. */
export const subscriptionFilterSchema = z.object({
  events: z.array(z.enum(SIGNAL_TYPES)).min(1).max(SIGNAL_TYPES.length),
  timeframes: z.array(timeframeSchema).min(1).max(11).nullable(),
  /** Coins and `top:N`; a signal passes when any of them fits. */
  assets: z
    .array(z.union([topAssetSchema, coinSchema]))
    .min(1)
    .max(LIMITS.subscriptionAssets)
    .nullable(),
  exchanges: z.array(exchangeSchema).min(1).max(20).nullable(),
  /** Applies to trade calls and regime shifts. */
  minConfidence: percent,
  /** Applies to trade calls. */
  minStrength: percent,
  /** One trade call when a series turns BUY or SELL, instead of one for each bar that stays so. */
  onlyChanges: z.boolean(),
  /** Null where `scan_digest` is not asked for. */
  digest: z
    .object({
      timeframe: timeframeSchema,
      exchange: exchangeSchema,
      topN: z.int().min(1).max(100),
      cadence: z.enum(CADENCES),
    })
    .nullable(),
})
export type SubscriptionFilter = z.infer<typeof subscriptionFilterSchema>

/** How deliveries are sent, as their owner chose. */
export const sendingSchema = z.object({
  /** Attempts a second at most; null where nothing was chosen. */
  perSecond: z.int().min(1).max(LIMITS.webhookPerSecond).nullable(),
  /** Each delivery waits until the previous one is delivered or given up. */
  inOrder: z.boolean(),
})
export type Sending = z.infer<typeof sendingSchema>

/** Without a choice of its owner. */
export const AS_IT_COMES: Sending = { perSecond: null, inOrder: false }
