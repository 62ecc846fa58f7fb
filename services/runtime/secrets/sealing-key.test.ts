import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { keyFingerprint } from './seal.ts'
import { deriveKey, loadSealingKey } from './sealing-key.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'key-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

let calls = 0
const random = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(++calls)
const load = (given?: string): Uint8Array =>
  loadSealingKey({ given, directory: join(directory, 'data'), random })

describe('the sealing key', () => {
  test('is made once, kept for its owner only, and read again', () => {
    const first = load()
    expect(first).toHaveLength(32)
    expect(load()).toEqual(first)
    expect(statSync(join(directory, 'data/sealing.key')).mode & 0o777).toBe(0o600)
  })

  test('leaves nothing unfinished behind, and spoils no key that is there', () => {
    load()
    expect(readdirSync(join(directory, 'data'))).toEqual(['sealing.key'])
  })

  test('of two first starts at once is one, whatever their process ids', () => {
    let inner: Uint8Array | undefined
    const interrupted = (bytes: number): Uint8Array => {
      // Once the first has begun, the other one comes and goes.
      inner ??= load()
      return random(bytes)
    }
    const outer = loadSealingKey({
      given: undefined,
      directory: join(directory, 'data'),
      random: interrupted,
    })
    expect(outer).toEqual(inner)
    expect(readdirSync(join(directory, 'data'))).toEqual(['sealing.key'])
  })

  test('that is given is used, and nothing is written', () => {
    const given = Buffer.alloc(32, 9).toString('base64')
    expect(Buffer.from(load(given)).toString('base64')).toBe(given)
    expect(() => readFileSync(join(directory, 'data/sealing.key'))).toThrow()
  })

  test.each(['', 'short', 'x'.repeat(200)])('that was damaged to %j is refused, not replaced', (text) => {
    load()
    const file = join(directory, 'data/sealing.key')
    writeFileSync(file, text)
    expect(() => load()).toThrow(/sealing\.key cannot be used/)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })
})

describe('derived keys', () => {
  // Vector made with the `hkdf` of OpenSSL 3 over the same inputs.
  test('are HKDF-SHA256 of the master key and the purpose', () => {
    const master = Buffer.alloc(32, 1)
    const expected = '8ed8cab1fc16a8355572f3a8ecc707bf308cb09b07fc341d2b075e9d260a1216'
    expect(Buffer.from(deriveKey(master, 'fact-ids')).toString('hex')).toBe(expected)
    expect(deriveKey(master, 'fact-ids')).not.toEqual(deriveKey(master, 'other'))
    expect(deriveKey(Buffer.alloc(32, 2), 'fact-ids')).not.toEqual(deriveKey(master, 'fact-ids'))
  })

  test('have a fingerprint that tells them apart and does not hold them', () => {
    const key = Buffer.alloc(32, 7)
    expect(keyFingerprint(key)).toMatch(/^[0-9a-f]{64}$/)
    expect(keyFingerprint(key)).not.toContain(key.toString('hex'))
    expect(keyFingerprint(key)).not.toBe(keyFingerprint(Buffer.alloc(32, 8)))
  })
})
