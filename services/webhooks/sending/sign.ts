import { createHmac } from 'node:crypto'
import { assert } from '../../../contracts/errors/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'

/** The whole text of a secret is the key of `X-Service-Signature`, the bytes after its prefix that of `webhook-signature`. */
const keyOf = (secret: string): Buffer => Buffer.from(secret.replace(/^whsec_/, ''), 'base64')

const signed = (key: string | Buffer, prefix: string, body: Uint8Array, encoding: 'hex' | 'base64'): string =>
  createHmac('sha256', key).update(prefix).update(body).digest(encoding)

/** One attempt of a delivery, as its headers tell it. */
export interface SignedDelivery {
  /** `trade_call`, `regime_shift` or `scan_digest`. */
  readonly event: string
  readonly deliveryId: string
  /** The bytes that are sent. */
  readonly body: Uint8Array
  /** When it is sent, Unix milliseconds: every attempt has its own time, or receivers would refuse a late one. */
  readonly at: number
  /** Absent for tests, which are not of the subscription's sequence. */
  readonly sequence?: number | undefined
  /** From 1. */
  readonly attempt: number
  /** W3C trace context of what caused it. */
  readonly traceparent?: string | undefined
}

/** Headers of a delivery, in the spelling they are sent with. */
export type DeliveryHeaders = Readonly<Record<string, string>>

/** @param secrets those that sign, newest first; at least one */
export type Sign = (secrets: readonly string[], delivery: SignedDelivery) => DeliveryHeaders

/**
 * Makes what signs deliveries in both ways at once. `X-Service-Signature` is hex HMAC-SHA256 over `{timestamp}.{body}`
 * with a secret as text for its key: the one that receivers have, which is the oldest that still signs. While a rotation
 * overlaps, `X-Service-Signature-Next` is the same with the newer ones, newest first. `webhook-signature` is what libraries of Standard
 * Webhooks verify, base64 over `{id}.{timestamp}.{body}` with the decoded bytes, once for every secret.
 *
 * @param userAgent how this service names itself
 * @example
 * const sign = createSign({ userAgent: 'signal-service/0.2.0' })
 * const headers = sign([secret], { event: 'trade_call', deliveryId, body, at: Date.now(), sequence: 7, attempt: 1 })
 */
export function createSign({ userAgent }: { readonly userAgent: string }): Sign {
  return (secrets, { event, deliveryId, body, at, sequence, attempt, ...marks }) => {
    const signing = secrets.slice(0, LIMITS.webhookSecretsSigning)
    const known = signing.at(-1)
    assert(known !== undefined && known !== '', 'a delivery is signed')
    assert(attempt >= 1, 'attempts are numbered from 1', attempt)
    const timestamp = String(Math.floor(at / 1_000))
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      'user-agent': userAgent,
      'X-Service-Event': event,
      'X-Service-Delivery': deliveryId,
      'X-Service-Timestamp': timestamp,
      'X-Service-Signature': signed(known, `${timestamp}.`, body, 'hex'),
      'X-Service-Attempt': String(attempt),
      'webhook-id': deliveryId,
      'webhook-timestamp': timestamp,
      'webhook-signature': signing
        .map((secret) => `v1,${signed(keyOf(secret), `${deliveryId}.${timestamp}.`, body, 'base64')}`)
        .join(' '),
    }
    if (signing.length > 1) {
      headers['X-Service-Signature-Next'] = signing
        .slice(0, -1)
        .map((secret) => signed(secret, `${timestamp}.`, body, 'hex'))
        .join(', ')
    }
    // Set one by one: putting objects together costs more than signing.
    if (sequence !== undefined) headers['X-Service-Sequence'] = String(sequence)
    if (marks.traceparent !== undefined) headers.traceparent = marks.traceparent
    return headers
  }
}
