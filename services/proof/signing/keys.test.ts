import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import { NewestCheckpoint } from './keys.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'newest-checkpoint-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const CHECKPOINT = { origin: 'signals.example/log', size: 4_711, root: Buffer.alloc(32, 7) }

test('a file with any bit flipped is refused, and is no other checkpoint', () => {
  const file = join(folder, 'flipped')
  new NewestCheckpoint(file).write(CHECKPOINT)
  expect(new NewestCheckpoint(file).read()).toEqual(CHECKPOINT)
  const bytes = readFileSync(file)
  const escaped: string[] = []
  for (const [at, byte] of bytes.entries())
    for (const bit of [1, 2, 4, 8, 16, 32, 64, 128]) {
      const flipped = Buffer.from(bytes)
      flipped[at] = byte ^ bit
      writeFileSync(file, flipped)
      try {
        new NewestCheckpoint(file).read()
        escaped.push(`bit ${bit} of byte ${at}`)
      } catch (error) {
        if (!isServiceError(error, 'config_invalid')) throw error
      }
    }
  expect(escaped).toEqual([])
})
