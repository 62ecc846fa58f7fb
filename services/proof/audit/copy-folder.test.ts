import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { EMPTY_ROOT } from '../tree/merkle.ts'
import { readAuditState, writeAuditState } from './audited-history.ts'
import { openCopyFolder } from './copy-folder.ts'
import type { ReadLog } from './read-log.ts'

let outside: string
beforeEach(() => {
  outside = mkdtempSync(join(tmpdir(), 'copy-'))
})
afterEach(() => rmSync(outside, { recursive: true, force: true }))

test('whatever a path says, it is a file of the folder, and read as it was written', () => {
  const part = fc.oneof(
    fc.constantFrom(
      '..',
      '.',
      '',
      '...',
      '~',
      'C:',
      '\\',
      '?',
      '@',
      '%2e%2e',
      '\u0000',
      'x'.repeat(300),
      'é'.repeat(90),
    ),
    fc.string({ unit: 'grapheme', maxLength: 8 }),
  )
  fc.assert(
    fc.property(
      fc.array(part, { minLength: 1, maxLength: 5 }),
      fc.constantFrom('/', '?', '&after='),
      (parts, glue) => {
        rmSync(join(outside, 'copy'), { recursive: true, force: true })
        const folder = openCopyFolder(join(outside, 'copy'))
        const path = parts.join(glue)
        folder.write(path, Buffer.from(path))
        expect(readdirSync(outside)).toEqual(['copy'])
        expect(folder.read(path, 10_000)?.toString()).toBe(path)
      },
    ),
    { numRuns: 300 },
  )
})

test('files have the names that copies of former releases have', () => {
  const folder = openCopyFolder(outside)
  for (const path of [
    'log/tile/entries/x001/234.p/7',
    'api/track-record?group_by=timeframe&after=dGltZQ',
    'api/bars?exchange=SIM&coin=BTC&timeframe=1h&from=0&to=1',
  ])
    folder.write(path, Buffer.from('x'))
  expect(readdirSync(join(outside, 'api'))).toEqual([
    'bars@exchange=SIM&coin=BTC&timeframe=1h&from=0&to=1',
    'track-record@group_by=timeframe&after=dGltZQ',
  ])
  expect(readdirSync(join(outside, 'log/tile/entries/x001/234.p'))).toEqual(['7'])
})

test('what is too long, or no file, is refused', () => {
  const folder = openCopyFolder(outside)
  folder.write('long', Buffer.alloc(11))
  expect(() => folder.read('long', 10)).toThrow('longer than 10 bytes')
  mkdirSync(join(outside, 'folder'))
  expect(() => folder.read('folder', 10)).toThrow('is no file')
  expect(folder.read('nothing', 10)).toBeUndefined()
  expect(openCopyFolder(join(outside, 'nowhere')).read('log/checkpoint', 10)).toBeUndefined()
})

test('what another process writes beside a file stays as it is, and is no part of the file', () => {
  const folder = openCopyFolder(outside)
  const place = join(outside, 'checkpoint')
  writeFileSync(`${place}.unfinished`, 'of another process')
  folder.write('checkpoint', Buffer.from('first'))
  writeAuditState(
    place,
    { checkpoint: { origin: 'x', size: 0, root: EMPTY_ROOT }, leaves: EMPTY } as ReadLog,
    1,
  )
  expect(readAuditState(place)).toEqual({ origin: 'x', size: 0, seenAt: 1, leaves: EMPTY })
  expect(readFileSync(`${place}.unfinished`, 'utf8')).toBe('of another process')
  expect(readdirSync(outside)).toEqual(['checkpoint', 'checkpoint.unfinished'])
})

const EMPTY = Buffer.alloc(0)
