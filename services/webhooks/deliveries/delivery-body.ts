import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { forecastShown } from '../../../contracts/domain/verdict.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { verifyUrl } from '../../../contracts/tools/tool-schemas.ts'
import type { RegimeShiftSignal, ScanDigestSignal, Signal, TradeCallSignal } from '../signals/signal.ts'

/** The parts of a body. */
export interface BodyParts {
  readonly deliveryId: string
  readonly sequence: number
  readonly signal: Signal
  /** Rows of a digest, at most; null for other signals. */
  readonly topN: number | null
  /** Address of this service, without a slash at its end. */
  readonly baseUrl: string
}

/**
 * The body of a delivery: `{event, delivery_id, created_at, sequence, data}` as UTF-8 JSON, at most
 * `LIMITS.webhookBodyBytes` long. A digest that is longer is sent with fewer rows.
 *
 * @example JSON.parse(deliveryBody(parts).toString()).data.call // 'BUY'
 */
export function deliveryBody(parts: BodyParts): Buffer {
  const { signal, deliveryId, sequence } = parts
  const head = JSON.stringify({ event: signal.type, delivery_id: deliveryId })
  const bodyOf = ({ createdAt, data }: Pick<MadeText, 'createdAt' | 'data'>): Buffer =>
    Buffer.from(`${head.slice(0, -1)},"created_at":"${createdAt}","sequence":${sequence},"data":${data}}`)
  const made = textOf(parts)
  let body = bodyOf(made)
  for (let rows = made.rows - 1; body.length > LIMITS.webhookBodyBytes && rows >= 0; rows--)
    body = bodyOf(textOf(parts, rows))
  assert(body.length <= LIMITS.webhookBodyBytes, 'a body is within its limit', body.length)
  return body
}

/** The newest text of a signal: one goes to many subscribers, and all but the head is the same. */
interface MadeText {
  readonly baseUrl: string
  readonly topN: number | null
  readonly createdAt: string
  readonly data: string
  readonly rows: number
}

const made = new WeakMap<Signal, MadeText>()

/** @param most rows of a digest, where it does not fit with all of them */
function textOf({ signal, baseUrl, topN }: BodyParts, most?: number): MadeText {
  const before = made.get(signal)
  if (most === undefined && before?.baseUrl === baseUrl && before.topN === topN) return before
  const shown = signalData(signal, baseUrl, topN)
  const calls = Array.isArray(shown.calls) ? shown.calls : []
  const data = JSON.stringify(most === undefined ? shown : { ...shown, calls: calls.slice(0, most) })
  const text = { baseUrl, topN, createdAt: isoTime(signal.at), data, rows: calls.length }
  if (most === undefined) made.set(signal, text)
  return text
}

/** `data` of a signal's body. */
export function signalData(signal: Signal, baseUrl: string, topN: number | null): JsonObject {
  if (signal.type === 'trade_call') return tradeCallData(signal.data, baseUrl)
  if (signal.type === 'regime_shift') return regimeShiftData(signal.data, baseUrl)
  return digestData(signal, baseUrl, topN)
}

type CalledVerdict = Omit<
  TradeCallSignal['data'],
  'regimeSince' | 'regimeStrength' | 'volatilityPercentile' | 'barrier' | 'factors' | 'reasoning' | Provenance
>
/** Fields that say how a verdict was computed and recorded. */
type Provenance = 'anchorBar' | 'inputsHash' | 'previous' | 'recordedLate'

export const tradeCallData = (data: CalledVerdict, baseUrl: string): JsonObject => ({
  type: 'trade_call',
  coin: data.coin,
  timeframe: data.timeframe,
  exchange: data.exchange,
  call: data.call,
  confidence: data.confidence,
  strength: data.strength,
  regime: data.regime,
  price: data.price,
  bar_close: isoTime(data.barClose),
  valid_until: isoTime(data.validUntil),
  verdict_id: data.verdictId,
  model_version: data.modelVersion,
  // Verdicts of before there were forecasts keep the bodies that they were sent with.
  ...(data.forecast === null ? {} : forecastShown(data.forecast)),
  verify_url: verifyUrl(baseUrl, data),
})

export const regimeShiftData = (data: RegimeShiftSignal['data'], baseUrl: string): JsonObject => ({
  type: 'regime_shift',
  coin: data.coin,
  timeframe: data.timeframe,
  exchange: data.exchange,
  regime: data.regime,
  prior_regime: data.priorRegime,
  confidence: data.confidence,
  bar_close: isoTime(data.barClose),
  verdict_id: data.verdictId,
  verify_url: verifyUrl(baseUrl, data),
})

const digestData = (signal: ScanDigestSignal, baseUrl: string, topN: number | null): JsonObject => ({
  type: 'scan_digest',
  cadence: signal.data.cadence,
  timeframe: signal.data.timeframe,
  exchange: signal.data.exchange,
  top_n: topN,
  completed_at: isoTime(signal.data.completedAt),
  calls: digestRows(signal, baseUrl, topN ?? signal.data.calls.length),
})

const digestRows = ({ data }: ScanDigestSignal, baseUrl: string, rows: number): JsonObject[] =>
  data.calls.slice(0, rows).map((row) => ({
    rank: row.rank,
    coin: row.coin,
    call: row.call,
    confidence: row.confidence,
    strength: row.strength,
    regime: row.regime,
    price: row.price,
    bar_close: isoTime(row.barClose),
    valid_until: isoTime(row.validUntil),
    verdict_id: row.verdictId,
    verify_url: verifyUrl(baseUrl, row),
  }))
