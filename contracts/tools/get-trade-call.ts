import { z } from 'zod'
import { factorSchema, forecastFields, probabilityFields } from '../domain/verdict.ts'
import {
  callFields,
  coinField,
  exchangeField,
  instantField,
  seriesFields,
  timeframeField,
} from './tool-fields.ts'

/** @example getTradeCallRequest.parse({ coin: 'btc' }) // { coin: 'BTC', timeframe: '1h', include_factors: true } */
export const getTradeCallRequest = z.strictObject({
  coin: coinField,
  timeframe: timeframeField('1h'),
  exchange: exchangeField.describe('Exchange code; left out, the first monitored'),
  include_factors: z.boolean().default(true).describe('Whether to list the contribution of every factor'),
})

export const getTradeCallResponse = z.object({
  ...callFields,
  ...seriesFields,
  ...probabilityFields,
  barrier: z.number().describe('Distance of either barrier, as a fraction of the price'),
  ...forecastFields,
  price: z.number().describe('Close of the bar'),
  bar_close: instantField,
  valid_until: instantField.describe('End of the window in which the outcome is decided'),
  verdict_id: z.uuid(),
  model_version: z.string(),
  factors: z
    .array(factorSchema)
    .describe('Signed contributions; they sum to the log-odds of the probability'),
  reasoning: z.string(),
  unconfirmed: z.literal(true).exactOptional().describe('Newest bars show no skill here'),
  verify_url: z.url(),
  data_age_ms: z.int().nonnegative().describe('Time since the bar closed'),
})

export type GetTradeCallResponse = z.infer<typeof getTradeCallResponse>
