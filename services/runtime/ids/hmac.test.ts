import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { hmacKey, hmacSha256 } from './hmac.ts'

const bytes = (length: number, from: number): Buffer =>
  Buffer.from(Array.from({ length }, (_, index) => (from + index * 7) % 256))

test('answers what RFC 4231 asks for', () => {
  const expected = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'
  const key = hmacKey(Buffer.from('Jefe'))
  expect(hmacSha256(key, 'what do ya want for nothing?', undefined, 'hex')).toBe(expected)
})

test.each([0, 1, 32, 63, 64, 65, 131, 1_000])(
  'agrees with the HMAC of Node.js for a key of %i bytes',
  (length) => {
    const key = hmacKey(bytes(length, 3))
    for (const [text, body] of [
      ['', Buffer.alloc(0)],
      ['1700000000.', bytes(805, 1)],
      ['a name – ünïcode 🚀\n', bytes(64, 9)],
      ['long.', bytes(70_000, 5)],
      ['exactly.', bytes(16_384, 5)],
    ] as const) {
      for (const encoding of ['hex', 'base64', 'base64url'] as const) {
        const theirs = createHmac('sha256', bytes(length, 3)).update(text).update(body).digest(encoding)
        expect(hmacSha256(key, text, body, encoding)).toBe(theirs)
      }
    }
  },
)

test('what was hashed before leaves no trace', () => {
  const key = hmacKey(bytes(32, 1))
  const short = hmacSha256(key, 'short', undefined, 'hex')
  hmacSha256(hmacKey(bytes(32, 2)), 'x'.repeat(2_000), bytes(3_000, 0), 'hex')
  expect(hmacSha256(key, 'short', undefined, 'hex')).toBe(short)
})
