import { fromHex, joined, utf8 } from './bytes.ts'
import { SignalRefusal } from './refusal.ts'

/** The body of a delivery that is known to be genuine. */
export interface Webhook {
  readonly event: string
  /** The same over all tries: remember by it what was done. */
  readonly delivery_id: string
  readonly created_at: string
  /** From 1 without gaps, per subscription; absent in tests. */
  readonly sequence?: number
  /** A sample that was asked for: nothing is to be done with it. */
  readonly test?: boolean
  readonly data: Readonly<Record<string, unknown>>
}

export interface VerifyWebhookOptions {
  /** The subscription's secret; while it is being rotated, the old one, the new one, or both. */
  readonly secret: string | readonly string[]
  /** As they came: of Node, or of Fetch. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The bytes as they came: parsed and written again they may differ. */
  readonly body: Uint8Array | string
  /** Unix milliseconds. */
  readonly now?: number
  /** How far the delivery's time may be from `now`, in seconds. */
  readonly toleranceS?: number
}

/**
 * The delivery, where its signature and time are sound. Web Crypto compares, in a time that tells nothing.
 *
 * @throws SignalRefusal `webhook_invalid`: answer 401 and do nothing else
 */
export async function verifyWebhook(options: VerifyWebhookOptions): Promise<Webhook> {
  const { headers, now = Date.now(), toleranceS = 300 } = options
  const body = typeof options.body === 'string' ? utf8(options.body) : options.body
  const timestamp = single(headers, 'x-service-timestamp')
  if (!/^\d{1,12}$/.test(timestamp)) throw invalid('X-Service-Timestamp is missing or no number')
  const away = Math.abs(now / 1_000 - Number(timestamp))
  if (away > toleranceS) throw invalid(`it was sent ${Math.round(away)} s away from this clock`)
  // While the secret is rotated, the second header holds the signatures of the newer secrets.
  const signatures = ['x-service-signature', 'x-service-signature-next']
    .flatMap((name) => single(headers, name).split(', '))
    .filter((text) => /^[0-9a-f]{64}$/.test(text))
  const signed = joined(utf8(`${timestamp}.`), body)
  for (const secret of [options.secret].flat()) {
    if (secret === '') throw invalid('a secret is empty, and everybody could sign with it')
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    const key = await crypto.subtle.importKey('raw', utf8(secret), algorithm, false, ['verify'])
    for (const signature of signatures)
      if (await crypto.subtle.verify('HMAC', key, fromHex(signature), signed)) return read(body, headers)
  }
  throw invalid('the signature does not fit the secret, the time and the body')
}

/** The body is what is signed: headers that repeat it must agree with it. */
function read(body: Uint8Array, headers: VerifyWebhookOptions['headers']): Webhook {
  let webhook: Partial<Webhook> | null
  try {
    webhook = JSON.parse(new TextDecoder().decode(body)) as Partial<Webhook> | null
  } catch (cause) {
    throw new SignalRefusal('webhook_invalid', 'it is signed, but is no JSON', { cause })
  }
  if (typeof webhook?.event !== 'string' || typeof webhook.delivery_id !== 'string')
    throw invalid('it is signed, but is no delivery')
  const repeated = { 'x-service-event': webhook.event, 'x-service-delivery': webhook.delivery_id }
  for (const [name, inBody] of Object.entries(repeated))
    if (![inBody, ''].includes(single(headers, name))) throw invalid(`${name} differs from the body`)
  return webhook as Webhook
}

/** Empty where there is none; several of a name are none. */
function single(headers: VerifyWebhookOptions['headers'], name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? ''
  const values = Object.entries(headers).filter(([given]) => given.toLowerCase() === name)
  const [, value] = values.length === 1 ? (values[0] ?? []) : []
  return typeof value === 'string' ? value : ''
}

const invalid = (message: string): SignalRefusal => new SignalRefusal('webhook_invalid', message)
