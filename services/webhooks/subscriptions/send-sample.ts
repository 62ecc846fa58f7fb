import type { SignalType } from '../../../contracts/domain/subscription.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import type { SendOutcome } from '../sending/sender.ts'
import type { SubscriptionDeps } from './subscription-deps.ts'

/** The outcome of a test delivery. */
export interface SampleOutcome {
  readonly deliveryId: string
  readonly event: SignalType
  readonly outcome: SendOutcome
  /** Whether the endpoint answered as a delivery needs it: with a status from 200 to 299. */
  readonly isAccepted: boolean
}

/**
 * Sends a signed sample to an endpoint, now and once. It has no number and stands in no log: `test` in its body says
 * what it is.
 *
 * @param event what the sample is of
 */
export async function sendSample(
  {
    sender,
    sign,
    newId,
    now,
    baseUrl,
  }: Pick<SubscriptionDeps, 'sender' | 'sign' | 'newId' | 'now' | 'baseUrl'>,
  {
    url,
    secrets,
  }: {
    readonly url: string
    readonly secrets: readonly string[]
  },
  event: SignalType,
): Promise<SampleOutcome> {
  const deliveryId = newId()
  const at = now()
  const data = sampleOf(event, at, baseUrl())
  const created_at = new Date(at).toISOString()
  const body = Buffer.from(JSON.stringify({ event, delivery_id: deliveryId, created_at, test: true, data }))
  const headers = sign(secrets, { event, deliveryId, body, at, attempt: 1 })
  const outcome = await sender.send({ url, headers, body })
  return { deliveryId, event, outcome, isAccepted: isAccepted(outcome) }
}

export const isAccepted = ({ kind, status = 0 }: SendOutcome): boolean =>
  kind === 'answered' && status >= 200 && status < 300

const HOUR = 3_600_000
/** No verdict has it. */
const SAMPLE_VERDICT = '00000000-0000-8000-8000-000000000000'
/** How far the price may go. */
const REACH = {
  expected_range: { p10: -0.0112, p25: -0.0053, p50: 0, p75: 0.0053, p90: 0.0113 },
  expected_volatility: 0.0095,
}

function sampleOf(event: SignalType, now: number, baseUrl: string): JsonObject {
  const barClose = Math.floor(now / HOUR) * HOUR
  const instant = (ms: number): string => new Date(ms).toISOString()
  const verify_url = `${baseUrl}/verify/${SAMPLE_VERDICT}`
  const series = { coin: 'BTC', timeframe: '1h', exchange: 'SIM' }
  const call = { call: 'BUY', confidence: 55, strength: 80, regime: 'TRENDING_UP', price: 100_000 }
  const times = { bar_close: instant(barClose), valid_until: instant(barClose + 24 * HOUR) }
  switch (event) {
    case 'trade_call':
      return { type: event, ...series, ...call, ...times, ...REACH, verdict_id: SAMPLE_VERDICT, verify_url }
    case 'regime_shift':
      return {
        type: event,
        ...series,
        regime: 'TRENDING_UP',
        prior_regime: 'RANGING',
        confidence: 55,
        bar_close: times.bar_close,
        verdict_id: SAMPLE_VERDICT,
        verify_url,
      }
    default:
      return {
        type: event,
        cadence: '1h',
        timeframe: '1h',
        exchange: 'SIM',
        top_n: 1,
        completed_at: instant(now),
        calls: [{ rank: 1, coin: 'BTC', ...call, ...times, verdict_id: SAMPLE_VERDICT, verify_url }],
      }
  }
}
