import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { openLibrary } from './library.ts'

let folder: string
let library: Awaited<ReturnType<typeof openLibrary>>
let clock: number
let reports: string[]

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'library-'))
  writeFileSync(join(folder, 'one.md'), '# One\n\nThe first page.\n')
  writeFileSync(join(folder, 'README.txt'), 'no page')
  await mkdir(join(folder, 'decisions'))
  writeFileSync(join(folder, 'decisions', '0001-why.md'), '# Why\n')
  clock = 0
  reports = []
  library = await openLibrary({ folder, now: () => clock, report: (reason) => reports.push(reason) })
})
afterEach(() => {
  library.close()
  rmSync(folder, { recursive: true, force: true })
})

const pages = async (): Promise<string[]> => [...(await library.current()).pages.keys()]

test('holds the pages of its folder, and nothing below it', async () => {
  expect(await pages()).toEqual(['one'])
})

test('takes in changed pages when somebody asks after its interval, and not before', async () => {
  writeFileSync(join(folder, 'two.md'), '# Two\n\nAnother page about zebras.\n')
  expect(await pages()).toEqual(['one'])
  clock = LIMITS.docsLookMs
  // All who ask meanwhile get the new ones, read once.
  const shelves = await Promise.all([library.current(), library.current()])
  expect(shelves[0]).toBe(shelves[1])
  expect(await pages()).toEqual(['one', 'two'])
  const { index } = await library.current()
  expect(index.find(index.understand('zebra'))).toHaveLength(1)
})

test('an index that somebody still answers from goes on answering', async () => {
  const { index } = await library.current()
  writeFileSync(join(folder, 'one.md'), '# One\n\nThe first page, now longer.\n')
  clock = LIMITS.docsLookMs
  expect((await library.current()).index).not.toBe(index)
  expect(index.find(index.understand('first'))).toHaveLength(1)
})

test('pages that cannot be read are reported, and those before stay', async () => {
  await rm(folder, { recursive: true })
  clock = LIMITS.docsLookMs
  expect(await pages()).toEqual(['one'])
  expect(reports).toEqual([expect.stringContaining('ENOENT')])
})

test('a folder that is not there is refused at the start', async () => {
  const missing = join(folder, 'missing')
  await expect(openLibrary({ folder: missing, now: () => 0, report: () => undefined })).rejects.toThrow(
    'ENOENT',
  )
})

test('more than is read of one page is refused', async () => {
  writeFileSync(join(folder, 'large.md'), 'x'.repeat(LIMITS.docsPageBytes + 1))
  await expect(openLibrary({ folder, now: () => 0, report: () => undefined })).rejects.toThrow(
    /large\.md has \d+ bytes/,
  )
})
