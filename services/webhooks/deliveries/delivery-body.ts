import { ServiceError } from '../../../contracts/errors.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { CHAT_FORMS, type ChatForm } from '../../../contracts/subscription.ts'
import { verifyUrl } from '../../../contracts/tools/tool-fields.ts'
import { forecastShown } from '../../../contracts/verdict.ts'
import { chatBody } from '../sending/chat-channel.ts'
import type {
  ModelNoticeSignal,
  RegimeShiftSignal,
  ScanDigestSignal,
  Signal,
  TradeCallSignal,
} from '../signals/signal.ts'

/** Version of what bodies look like today. A released one never changes: bodies are made again from the log. */
export const BODY_TEMPLATE = 1
/** Templates of messages to chats. */
const CHAT_TEMPLATES: Readonly<Record<ChatForm, number>> = { discord: 2, slack: 3, telegram: 4 }

export const templateOf = (form: ChatForm | null): number =>
  form === null ? BODY_TEMPLATE : CHAT_TEMPLATES[form]

/** Everything that a body is made of. The same parts give the same bytes, whenever and wherever. */
export interface BodyParts {
  readonly deliveryId: string
  readonly sequence: number
  readonly signal: Signal
  /** Rows of a digest, at most; null for other signals. */
  readonly topN: number | null
  readonly template: number
  /** Address of this service, without a slash at its end. */
  readonly baseUrl: string
}

/**
 * The body of a delivery: `{event, delivery_id, created_at, sequence, data}` as UTF-8 JSON, at most
 * `LIMITS.webhookBodyBytes` long; or a message to a chat. A digest that is longer is sent with fewer rows.
 *
 * @throws ServiceError `event_unreadable` for a template that this release does not know.
 * @example JSON.parse(deliveryBody(parts).toString()).data.call // 'BUY'
 */
export function deliveryBody(parts: BodyParts): Buffer {
  const { signal, deliveryId, sequence } = parts
  const chat = CHAT_FORMS.find((form) => CHAT_TEMPLATES[form] === parts.template)
  if (chat !== undefined) return chatBody(chat, signalData(signal, parts.baseUrl, parts.topN), parts.baseUrl)
  if (parts.template !== BODY_TEMPLATE) {
    throw new ServiceError('event_unreadable', {
      message: `delivery ${parts.deliveryId} has a body of template ${parts.template}; this release knows no such`,
    })
  }
  const created = new Date(signal.at).toISOString()
  const head = `{"event":"${signal.type}","delivery_id":"${deliveryId}","created_at":"${created}","sequence":${sequence},"data":`
  const data = dataBytes(parts, LIMITS.webhookBodyBytes - head.length - 1)
  const body = Buffer.allocUnsafe(head.length + data.length + 1)
  // The head is ASCII for every signal.
  body.write(head, 'latin1')
  body.set(data, head.length)
  body[body.length - 1] = CLOSING_BRACE
  return body
}

const CLOSING_BRACE = 0x7d

/** The newest encoding of a signal: one signal goes to many subscribers, and all but the head is the same. */
interface Made {
  readonly baseUrl: string
  readonly topN: number | null
  readonly bytes: Buffer
}

const made = new WeakMap<Signal, Made>()

function dataBytes({ signal, baseUrl, topN }: BodyParts, most: number): Buffer {
  const before = made.get(signal)
  const isSame = before !== undefined && before.baseUrl === baseUrl && before.topN === topN
  const bytes = isSame ? before.bytes : Buffer.from(JSON.stringify(signalData(signal, baseUrl, topN)))
  if (bytes.length > most && signal.type === 'scan_digest')
    return Buffer.from(shorter(signal, baseUrl, topN, most))
  if (!isSame) made.set(signal, { baseUrl, topN, bytes })
  return bytes
}

/** The digest with as many of its best rows as fit. */
function shorter(signal: ScanDigestSignal, baseUrl: string, topN: number | null, most: number): string {
  for (let rows = Math.min(topN ?? Infinity, signal.data.calls.length) - 1; rows > 0; rows--) {
    const text = JSON.stringify({
      ...digestData(signal, baseUrl, topN),
      calls: digestRows(signal, baseUrl, rows),
    })
    if (Buffer.byteLength(text) <= most) return text
  }
  return JSON.stringify({ ...digestData(signal, baseUrl, topN), calls: [] })
}

/** `data` of a signal's body. */
export function signalData(signal: Signal, baseUrl: string, topN: number | null): JsonObject {
  if (signal.type === 'trade_call') return tradeCallData(signal, baseUrl)
  if (signal.type === 'regime_shift') return regimeShiftData(signal, baseUrl)
  if (signal.type === 'model_notice') return modelNoticeData(signal, baseUrl)
  return digestData(signal, baseUrl, topN)
}

const tradeCallData = ({ data }: TradeCallSignal, baseUrl: string): JsonObject => ({
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

const regimeShiftData = ({ data }: RegimeShiftSignal, baseUrl: string): JsonObject => ({
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

const modelNoticeData = ({ data }: ModelNoticeSignal, baseUrl: string): JsonObject => ({
  type: 'model_notice',
  change: data.change,
  timeframe: data.timeframe,
  model_version: data.modelVersion,
  from: isoTime(data.from),
  auc_180d: data.auc,
  races_180d: data.races,
  days_running: data.days,
  track_record_url: `${baseUrl}/api/track-record?timeframe=${data.timeframe}`,
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
