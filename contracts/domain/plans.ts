import { z } from 'zod'

export const TIERS = ['free', 'starter', 'pro'] as const
export type Tier = (typeof TIERS)[number]
export const tierSchema = z.enum(TIERS)

/**
 * Tool calls in one window (a calendar month on free, 30 days on a paid plan) and in one UTC day, and POSTs of webhooks as a
 * multiple of those of a free account.
 */
export const PLAN_LIMITS = {
  free: { callsPerWindow: 200, callsPerDay: 100, webhookPosts: 1 },
  starter: { callsPerWindow: 10_000, callsPerDay: null, webhookPosts: 10 },
  pro: { callsPerWindow: 100_000, callsPerDay: null, webhookPosts: 30 },
} as const satisfies Record<Tier, object>

/** Days that a paid plan lasts. */
export const PLAN_DAYS = 30

/** The time over which calls are counted. */
export const quotaWindowSchema = z.object({
  /** `2026-11` for a calendar month, `plan-20261121T031500Z` for a paid period; part of a stream's name. */
  id: z.string().regex(/^[A-Za-z0-9-]{1,40}$/),
  /** Unix milliseconds; `to` is the first instant that is not part of it. */
  from: z.int().nonnegative(),
  to: z.int().nonnegative(),
})
export type QuotaWindow = z.infer<typeof quotaWindowSchema>
