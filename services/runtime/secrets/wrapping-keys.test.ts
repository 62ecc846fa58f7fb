import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { addWrappingKey, loadWrappingKeys } from './wrapping-keys.ts'

let folder: string
let file: string
let made = 0
const random = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(++made)
const line = (): string => `${Buffer.from(random(32)).toString('base64')}\n`
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'keys-'))
  file = join(folder, 'wrapping.keys')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a key that is added is the newest one, and nothing is left beside the file', () => {
  expect(addWrappingKey(file, random).used).toBe(1)
  writeFileSync(file, readFileSync(file, 'utf8').trimEnd())
  const { keys, used } = addWrappingKey(file, random)
  expect([keys.length, used]).toEqual([2, 2])
  expect(loadWrappingKeys({ given: undefined, file })).toEqual({ keys, used })
  expect(readdirSync(folder)).toEqual(['wrapping.keys'])
})

test.each([
  ['that ends with a key that is only known', () => `${line()}next ${line()}`, 'is only known (next)'],
  ['that is full', () => Array.from({ length: 32 }, line).join(''), 'may hold 32'],
  ['that is damaged', () => 'no key\n', 'line 1 is not 32 bytes'],
])('a file %s stays as it is', (_what, content, why) => {
  const before = content()
  writeFileSync(file, before)
  expect(() => addWrappingKey(file, random)).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(why) }),
  )
  expect(readFileSync(file, 'utf8')).toBe(before)
})
