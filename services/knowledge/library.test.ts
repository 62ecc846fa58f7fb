import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { openLibrary } from './library.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'library-'))
  writeFileSync(join(folder, 'one.md'), '# One\n\nThe first page, about zebras.\n')
  writeFileSync(join(folder, 'README.txt'), 'no page')
  mkdirSync(join(folder, 'decisions'))
  writeFileSync(join(folder, 'decisions', '0001-why.md'), '# Why\n')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('holds the pages of its folder, and nothing below it', async () => {
  const library = await openLibrary(folder)
  expect([...library.pages.keys()]).toEqual(['one'])
  expect(library.index.find(library.index.understand('zebra'))).toHaveLength(1)
  library.close()
})

test('a folder that is not there is refused at the start', async () => {
  await expect(openLibrary(join(folder, 'missing'))).rejects.toThrow('ENOENT')
})

test('more than is read of one page is refused', async () => {
  writeFileSync(join(folder, 'large.md'), 'x'.repeat(LIMITS.docsPageBytes + 1))
  await expect(openLibrary(folder)).rejects.toThrow(/large\.md has \d+ bytes/)
})
