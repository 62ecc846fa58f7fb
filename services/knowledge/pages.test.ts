import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { readPages } from './pages.ts'

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
  const { pages } = await readPages(folder)
  expect(pages.map(({ name, title }) => [name, title])).toEqual([['one', 'One']])
})

test('a folder that is not there is refused at the start', async () => {
  await expect(readPages(join(folder, 'missing'))).rejects.toThrow('ENOENT')
})

test('more than is read of one page is refused', async () => {
  writeFileSync(join(folder, 'large.md'), 'x'.repeat(LIMITS.docsPageBytes + 1))
  await expect(readPages(folder)).rejects.toThrow(/large\.md has \d+ bytes/)
})
