import { assert } from '../../../contracts/errors/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { hmacKey, hmacSha256 } from '../../runtime/ids/hmac.ts'

/** The two keys of a secret, prepared. */
const signingKeys = (secret: string) => ({
  /** The whole text, for `X-Service-Signature`. */
  whole: hmacKey(Buffer.from(secret)),
  /** The bytes after the prefix, for `webhook-signature`. */
  decoded: hmacKey(Buffer.from(secret.replace(/^whsec_/, ''), 'base64')),
})

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

/** Secrets whose keys stay prepared. */
const KEYS_KEPT = 20_000

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
  const prepared = new RecentMap<string, ReturnType<typeof signingKeys>>(KEYS_KEPT)

  function keysOf(secret: string): ReturnType<typeof signingKeys> {
    const known = prepared.get(secret)
    if (known !== undefined) return known
    const keys = signingKeys(secret)
    prepared.set(secret, keys)
    return keys
  }

  /** One for every secret, the newest first. */
  function standardSignatures(secrets: readonly string[], prefix: string, body: Uint8Array): string {
    let signatures = ''
    for (const secret of secrets) {
      const signature = hmacSha256(keysOf(secret).decoded, prefix, body, 'base64')
      signatures += `${signatures === '' ? '' : ' '}v1,${signature}`
    }
    return signatures
  }

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
      'X-Service-Signature': hmacSha256(keysOf(known).whole, `${timestamp}.`, body, 'hex'),
      'X-Service-Attempt': String(attempt),
      'webhook-id': deliveryId,
      'webhook-timestamp': timestamp,
      'webhook-signature': standardSignatures(signing, `${deliveryId}.${timestamp}.`, body),
    }
    if (signing.length > 1) {
      headers['X-Service-Signature-Next'] = signing
        .slice(0, -1)
        .map((secret) => hmacSha256(keysOf(secret).whole, `${timestamp}.`, body, 'hex'))
        .join(', ')
    }
    // Set one by one: putting objects together costs more than signing.
    if (sequence !== undefined) headers['X-Service-Sequence'] = String(sequence)
    if (marks.traceparent !== undefined) headers.traceparent = marks.traceparent
    return headers
  }
}
