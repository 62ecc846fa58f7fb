import { createCipheriv, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seal, unseal } from './seal.ts'

const key = Buffer.alloc(32, 1)
const place = { key, context: 'e-mail of 1' }

test('what was sealed opens in its place, whatever it was', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), fc.string(), (bytes, context) => {
      const sealed = seal(bytes, { key, context }, randomBytes)
      expect(Buffer.from(unseal(sealed, { key, context }))).toEqual(Buffer.from(bytes))
    }),
  )
})

test('is AES-256-GCM with the context as additional data', () => {
  const nonce = Buffer.alloc(12, 9)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(Buffer.from('e-mail of 1'))
  const body = Buffer.concat([cipher.update('a@example.com'), cipher.final()])
  const whole = Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url')
  expect(seal(Buffer.from('a@example.com'), place, () => nonce)).toBe(`v1.${whole}`)
})

test('the same text sealed twice is not the same', () => {
  const bytes = Buffer.from('a@example.com')
  expect(seal(bytes, place, randomBytes)).not.toBe(seal(bytes, place, randomBytes))
})

test.each([
  ['another key', { ...place, key: Buffer.alloc(32, 2) }],
  ['another context', { ...place, context: 'e-mail of 2' }],
])('does not open with %s', (_what, other) => {
  const sealed = seal(Buffer.from('a@example.com'), place, randomBytes)
  expect(() => unseal(sealed, other)).toThrow(/the sealed e-mail of \d cannot be opened/)
})

test('does not open when any byte of it was changed, or some are missing', () => {
  const bytes = Buffer.from(seal(Buffer.from('secret'), place, randomBytes).slice(3), 'base64url')
  for (let index = 0; index < bytes.length; index++) {
    const changed = Buffer.from(bytes)
    changed[index] = (changed[index] ?? 0) ^ 1
    expect(() => unseal(`v1.${changed.toString('base64url')}`, place)).toThrow()
    expect(() => unseal(`v1.${bytes.subarray(0, index).toString('base64url')}`, place)).toThrow()
  }
  expect(() => unseal(`v2.${bytes.toString('base64url')}`, place)).toThrow(/another version/)
})
