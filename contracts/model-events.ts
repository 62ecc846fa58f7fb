import { z } from 'zod'
import { defineEvent } from './event-definition.ts'
import { timeMs } from './field-schemas.ts'
import { timeframeSchema } from './timeframes.ts'

export const modelVersionSchema = z.string().min(1).max(64)

/** Why a model does not speak at a timeframe any more, or does again. */
export const speechChangeSchema = z.object({
  modelVersion: modelVersionSchema,
  timeframe: timeframeSchema,
  /** Holds for the verdicts of bars that close from here on, Unix milliseconds of market time. */
  from: timeMs,
  /** The newest UTC day whose outcomes count: where it begins. */
  day: timeMs,
  /** Area under the curve over the days that the rule counts, up to that day: the chance that of two races the one won by the upper barrier had the higher forecast. */
  auc: z.number().min(0).max(1),
  /** Races that it is of. */
  races: z.int().nonnegative(),
  /** Days running on which it stood so. */
  days: z.int().positive(),
  /** Version of the rule that counted. */
  rule: z.int().positive(),
})

export type SpeechChange = z.infer<typeof speechChangeSchema>

const speech = 'speech-{model}.{timeframe}'

export const SpeechWithdrawn = defineEvent({
  type: 'SpeechWithdrawn',
  stream: speech,
  summary:
    'The forecasts of a model at a timeframe have ranked no better than chance for so long that its verdicts there are HOLD from here on. They go on being recorded and scored.',
  data: speechChangeSchema,
})

export const SpeechRestored = defineEvent({
  type: 'SpeechRestored',
  stream: speech,
  summary: 'A model makes calls again at a timeframe where they had been withdrawn.',
  data: speechChangeSchema,
})
