import { createHash, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createApiKey, hashOf, hintOf, isApiKey, readCredential } from './credentials.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const aKey = fc
  .array(fc.uint8Array({ minLength: 26, maxLength: 26 }), { minLength: 1, maxLength: 8 })
  .map((chunks) => {
    let next = 0
    // Falls back to bytes that are always fair, so that hostile randomness ends.
    return createApiKey((bytes) => chunks[next++] ?? new Uint8Array(bytes).fill(7))
  })

describe('a key', () => {
  test('has the documented shape, and passes its own check', () => {
    fc.assert(
      fc.property(aKey, (key) => {
        expect(key).toMatch(/^sk_live_[0-9A-Za-z]{32}$/)
        expect(isApiKey(key)).toBe(true)
      }),
    )
  })

  // Vector: the CRC-32 of 26 zeros, computed with Python's zlib.crc32 and written in base 62 by hand.
  test('ends with the CRC-32 of its random characters', () => {
    const key = createApiKey((bytes) => new Uint8Array(bytes))
    expect(key).toBe(`sk_live_${'0'.repeat(26)}3vSKjy`)
  })

  test('with one character changed, dropped, doubled or swapped with its neighbour is none', () => {
    fc.assert(
      fc.property(aKey, fc.nat(31), fc.constantFrom(...ALPHABET.split('')), (key, place, other) => {
        const at = 'sk_live_'.length + place
        const [head, own, next, tail] = [
          key.slice(0, at),
          key[at] ?? '',
          key[at + 1] ?? '',
          key.slice(at + 2),
        ]
        if (other !== own) expect(isApiKey(head + other + next + tail)).toBe(false)
        expect(isApiKey(head + next + tail)).toBe(false)
        expect(isApiKey(head + own + own + next + tail)).toBe(false)
        if (next !== own && next !== '') expect(isApiKey(head + next + own + tail)).toBe(false)
      }),
    )
  })

  test('draws every character as often as any other', () => {
    const counts = new Map<string, number>()
    const keys = 4_000
    for (let n = 0; n < keys; n++) {
      for (const character of createApiKey(randomBytes).slice(8, 34)) {
        counts.set(character, (counts.get(character) ?? 0) + 1)
      }
    }
    // Chi-squared over 61 degrees of freedom stays below 120 with a probability of 0.99999.
    const expected = (keys * 26) / 62
    const chi = ALPHABET.split('').reduce(
      (sum, c) => sum + ((counts.get(c) ?? 0) - expected) ** 2 / expected,
      0,
    )
    expect(chi).toBeLessThan(120)
  })

  test('is kept as its SHA-256, and shown by its first characters', () => {
    const key = createApiKey(randomBytes)
    expect(hashOf(key)).toBe(createHash('sha256').update(key).digest('hex'))
    expect(hintOf(key)).toBe(`${key.slice(0, 12)}…`)
  })
})

describe('an Authorization header', () => {
  const key = createApiKey(randomBytes)

  test.each([`Bearer ${key}`, `bearer ${key}`, `BEARER   ${key}  `])('%j holds the key', (header) => {
    expect(readCredential(header)).toEqual({ kind: 'key', hash: hashOf(key) })
  })

  test('that is not there is absent', () => {
    expect(readCredential(undefined)).toEqual({ kind: 'absent' })
  })

  test.each([
    '',
    'Bearer',
    'Bearer ',
    key,
    `Basic ${key}`,
    `Bearer${key}`,
    `Bearer "${key}"`,
    `Bearer ${key.replace('sk_live_', 'sk_test_')}`,
    // oxlint-disable-next-line no-template-curly-in-string
    'Bearer ${env:KEY}',
    'Bearer <API_KEY>',
    'Bearer $SIGNAL_KEY',
    `Bearer ${'a'.repeat(10_000)}`,
  ])('%j is malformed', (header) => {
    expect(readCredential(header)).toEqual({ kind: 'malformed' })
  })

  test.each([
    `Bearer ${key} ${key}`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key}0`,
    `bearer ${key.slice(0, -1)}!`,
    `Bearer ${key}\u0000`,
    'Bearer sk_live_…',
    `Bearer sk_live_${'a'.repeat(10_000)}`,
  ])('%j was meant as a key, and is none', (header) => {
    expect(readCredential(header)).toEqual({ kind: 'damaged' })
  })
})
