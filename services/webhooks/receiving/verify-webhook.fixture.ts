import { createHmac, timingSafeEqual } from 'node:crypto'

/** A verified delivery. */
export interface ReceivedWebhook {
  readonly event: string
  /** The same over all tries: what is done once is remembered by it. */
  readonly delivery_id: string
  readonly created_at: string
  /** From 1 without gaps, per subscription; absent in tests. */
  readonly sequence?: number
  /** A sample that was asked for: nothing is to be done with it. */
  readonly test?: boolean
  readonly data: unknown
}

export type Verification =
  | { readonly ok: true; readonly webhook: ReceivedWebhook }
  /** Why it is not to be trusted, in words for a log; not for the answer. */
  | { readonly ok: false; readonly reason: string }

export interface VerifyWebhookOptions {
  /** The subscription's secret; while it is being rotated, the old one, the new one, or both. */
  readonly secret: string | readonly string[]
  /** As they came; names in any case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The bytes as they came: parsed and written again they may differ. */
  readonly body: Uint8Array | string
  /** Unix milliseconds. */
  readonly now: number
  /** How far the delivery's time may be from `now`, in seconds. */
  readonly toleranceS?: number
}

/**
 * Checks a delivery of this service: `X-Service-Signature` or, while a rotation overlaps, `X-Service-Signature-Next`
 * must fit a secret, and where it is there, `webhook-signature` of Standard Webhooks too. Headers that repeat what the body says must agree with it, since only the
 * body is signed by both.
 *
 * @example
 * const verified = verifyWebhook({ secret, headers: request.headers, body, now: Date.now() })
 * if (!verified.ok) return response.writeHead(401).end()
 */
export function verifyWebhook(options: VerifyWebhookOptions): Verification {
  const { headers, now, toleranceS = 300 } = options
  const body = Buffer.from(options.body)
  const secrets = [options.secret].flat()
  const values = singleValues(headers)
  if (values === undefined) return refused('a header that is signed or checked came more than once')
  const timestamp = values.get('x-service-timestamp') ?? ''
  const late = timeFault(timestamp, now, toleranceS)
  if (late !== undefined) return refused(late)
  const signatures = SIGNATURES.flatMap((name) => values.get(name)?.split(', ') ?? [])
  const isSigned = secrets.some((secret) => {
    const expected = hmacOf(secret, `${timestamp}.`, body).toString('hex')
    return signatures.some((signature) => isEqual(signature, expected))
  })
  if (!isSigned) return refused('X-Service-Signature does not fit the secret, the time and the body')
  const standard = standardFault(values, secrets, body, timestamp)
  return standard === undefined ? readBody(body, values) : refused(standard)
}

const refused = (reason: string): Verification => ({ ok: false, reason })

/** Signature of the secret before a rotation, and of the newer ones. */
const SIGNATURES = ['x-service-signature', 'x-service-signature-next']

const CHECKED_HEADERS = [
  ...SIGNATURES,
  'x-service-event',
  'x-service-delivery',
  'x-service-timestamp',
  'x-service-sequence',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
]

/** The headers that are looked at, by name in lower case; undefined where one of them came twice. */
function singleValues(headers: VerifyWebhookOptions['headers']): Map<string, string> | undefined {
  const values = new Map<string, string>()
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase()
    if (value === undefined || !CHECKED_HEADERS.includes(name)) continue
    if (typeof value !== 'string' || values.has(name)) return undefined
    values.set(name, value)
  }
  return values
}

function timeFault(timestamp: string, now: number, toleranceS: number): string | undefined {
  if (!/^\d{1,12}$/.test(timestamp)) return 'X-Service-Timestamp is not Unix seconds'
  const awayS = Math.abs(now / 1_000 - Number(timestamp))
  return awayS > toleranceS ? `it was sent ${Math.round(awayS)} s away from this clock` : undefined
}

/** The fault of the Standard Webhooks signature; a delivery may come without one. */
function standardFault(
  values: ReadonlyMap<string, string>,
  secrets: readonly string[],
  body: Buffer,
  timestamp: string,
): string | undefined {
  const signatures = values.get('webhook-signature')
  if (signatures === undefined) return undefined
  const id = values.get('webhook-id') ?? ''
  if (values.get('webhook-timestamp') !== timestamp) {
    return 'webhook-timestamp differs from X-Service-Timestamp'
  }
  const expected = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    return `v1,${hmacOf(key, `${id}.${timestamp}.`, body).toString('base64')}`
  })
  const isSigned = signatures.split(' ').some((one) => expected.some((text) => isEqual(one, text)))
  return isSigned ? undefined : 'webhook-signature does not fit the secret, the id, the time and the body'
}

function readBody(body: Buffer, values: ReadonlyMap<string, string>): Verification {
  const webhook = parse(body.toString('utf8'))
  if (webhook === undefined) return refused('the body is signed, but is no delivery')
  const repeated: readonly (readonly [string, unknown])[] = [
    ['x-service-event', webhook.event],
    ['x-service-delivery', webhook.delivery_id],
    ['webhook-id', webhook.delivery_id],
    ['x-service-sequence', webhook.sequence],
  ]
  for (const [name, inBody] of repeated) {
    const value = values.get(name)
    if (value !== undefined && value !== String(inBody)) return refused(`${name} differs from the body`)
  }
  return { ok: true, webhook }
}

function parse(text: string): ReceivedWebhook | undefined {
  try {
    const value = JSON.parse(text) as Partial<ReceivedWebhook> | null
    const isDelivery = typeof value?.event === 'string' && typeof value.delivery_id === 'string'
    return isDelivery ? (value as ReceivedWebhook) : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

const hmacOf = (key: string | Buffer, prefix: string, body: Buffer): Buffer =>
  createHmac('sha256', key).update(prefix).update(body).digest()

/** In a time that does not tell how much of it is right. */
function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
