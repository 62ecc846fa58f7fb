import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pagesByReader } from './page-readers.ts'
import { docPage } from './pages.ts'

const DOCS = join(import.meta.dirname, '../../docs')

test('every page of the documentation has its readers, once, and none is sorted that is not there', () => {
  const pages = readdirSync(DOCS)
    .filter((file) => file.endsWith('.md'))
    .map((file) => docPage(file.replace('.md', ''), readFileSync(join(DOCS, file), 'utf8')))
  const groups = pagesByReader(pages)
  expect(groups.map(({ reader }) => reader)).toEqual([
    'For everybody',
    'For callers',
    'For subscribers',
    'For analysts',
    'For operators',
  ])
  expect(groups.flatMap((group) => group.pages.map(({ name }) => name)).toSorted()).toEqual(
    pages.map(({ name }) => name).toSorted(),
  )
})

test('a page that nobody has sorted comes last', () => {
  const groups = pagesByReader([docPage('new', '# New\n\nNew.\n'), docPage('faq', '# FAQ\n\nOld.\n')])
  expect(groups.map(({ reader, pages }) => [reader, pages.map(({ name }) => name)])).toEqual([
    ['For everybody', ['faq']],
    ['More', ['new']],
  ])
})
