import { z } from 'zod'
import { regimeShiftsAnswerSchema } from '../answers/history.ts'
import { coinParameter, exchangeParameter, timeframeParameter } from '../answers/parameters.ts'
import type { ToolDefinition } from './tool-catalogue.ts'

/** Rows of one answer: what a model can read, fewer than over HTTP. */
const ROWS = 100

/** The tools that read what was recorded. They are open and free, as the same is over HTTP, and need no key. */
export const HISTORY_TOOLS = {
  get_regime_shifts: {
    title: 'History of regimes',
    description:
      'The past: when the regime of a coin last changed, flipping between trending, ranging and volatile. Regime shifts at a timeframe on an exchange, newest first, each with its verdict, once the window of that verdict has closed. Free, without a key. A description of what has been; information, not advice.',
    request: z.strictObject({
      exchange: exchangeParameter.optional().describe('Exchange code; left out, the first monitored'),
      coin: coinParameter,
      timeframe: timeframeParameter.default('4h'),
      limit: z.int().min(1).max(ROWS).default(20).describe('Shifts at most'),
      after: z
        .string()
        .regex(/^\d{1,15}$/, 'must be the `next` of an answer')
        .optional()
        .describe('The `next` of an answer, for the older shifts after it'),
    }),
    response: regimeShiftsAnswerSchema,
  },
} as const satisfies Record<string, ToolDefinition>
