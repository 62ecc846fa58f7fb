import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isServiceError } from '../../../contracts/errors.ts'
import { checkpointText } from '../notes/checkpoint.ts'
import { keepNewestCheckpoint } from './newest-checkpoint.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'newest-checkpoint-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const CHECKPOINT = { origin: 'signals.example/log', size: 4_711, root: Buffer.alloc(32, 7) }

test('a file with any bit flipped is refused, and is no other checkpoint', () => {
  const file = join(folder, 'flipped')
  keepNewestCheckpoint(file).write(CHECKPOINT)
  expect(keepNewestCheckpoint(file).read()).toEqual(CHECKPOINT)
  const bytes = readFileSync(file)
  const escaped: string[] = []
  for (const [at, byte] of bytes.entries())
    for (const bit of [1, 2, 4, 8, 16, 32, 64, 128]) {
      const flipped = Buffer.from(bytes)
      flipped[at] = byte ^ bit
      writeFileSync(file, flipped)
      try {
        keepNewestCheckpoint(file).read()
        escaped.push(`bit ${bit} of byte ${at}`)
      } catch (error) {
        if (!isServiceError(error, 'config_invalid')) throw error
      }
    }
  expect(escaped).toEqual([])
})

test('one that a former release wrote is read, and has its checksum once it is written again', () => {
  const file = join(folder, 'former')
  writeFileSync(file, checkpointText(CHECKPOINT))
  const kept = keepNewestCheckpoint(file)
  expect(kept.read()).toEqual(CHECKPOINT)
  kept.write({ ...CHECKPOINT, size: 4_712 })
  expect(readFileSync(file, 'utf8')).toMatch(/\ncrc32 [0-9a-f]{8}\n$/)
})
