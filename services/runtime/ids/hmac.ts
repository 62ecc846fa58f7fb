import { hash } from 'node:crypto'

/** A key that is ready to be used: what HMAC hashes in front of a message, and around what came of that. */
export interface HmacKey {
  readonly inner: Buffer
  /** With room for the inner digest behind it. */
  readonly outer: Buffer
}

/** Block size of SHA-256, in bytes. */
const BLOCK = 64
const DIGEST = 32

/** Messages up to this length share one buffer; longer ones have one of their own. */
const SHARED_BYTES = 16_384
const shared = Buffer.alloc(SHARED_BYTES)

/** Prepares a key of HMAC-SHA256 (RFC 2104 §2): bytes past a block are hashed, and what is short is padded. */
export function hmacKey(secret: Uint8Array): HmacKey {
  const key = secret.length > BLOCK ? hash('sha256', secret, 'buffer') : secret
  const inner = Buffer.alloc(BLOCK, 0x36)
  const outer = Buffer.alloc(BLOCK + DIGEST, 0x5c)
  for (const [index, byte] of key.entries()) {
    inner[index] = byte ^ 0x36
    outer[index] = byte ^ 0x5c
  }
  return { inner, outer }
}

/**
 * HMAC-SHA256 over a text and the bytes behind it. Two hashes of one call each: the object that `createHmac` makes for
 * a message costs more than hashing a message of a kilobyte, and as much again when it is collected.
 */
export function hmacSha256(
  { inner, outer }: HmacKey,
  text: string,
  body: Uint8Array | undefined,
  encoding: 'hex' | 'base64' | 'base64url',
): string {
  // No character of UTF-16 takes more than three bytes as UTF-8.
  const most = BLOCK + text.length * 3 + (body?.length ?? 0)
  const message = most <= SHARED_BYTES ? shared : Buffer.alloc(most)
  inner.copy(message)
  let length = BLOCK + message.write(text, BLOCK)
  if (body !== undefined) {
    message.set(body, length)
    length += body.length
  }
  outer.write(hash('sha256', message.subarray(0, length), 'binary'), BLOCK, 'latin1')
  return hash('sha256', outer, encoding)
}
