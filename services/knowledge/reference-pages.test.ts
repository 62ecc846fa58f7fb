import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { EVENT_CATALOGUE } from '../../contracts/event-catalogue.ts'
import { referencePages } from './reference-pages.ts'

const DOCS = join(import.meta.dirname, '../../docs')

describe('reference pages', () => {
  test.each(Object.entries(referencePages()))('docs/%s is what `npm run docs` writes', (name, text) => {
    expect(readFileSync(join(DOCS, name), 'utf8')).toBe(text)
  })

  test('name every event with its stream', () => {
    const page = referencePages()['events.md'] ?? ''
    for (const { type, stream } of Object.values(EVENT_CATALOGUE)) {
      expect(page).toContain(`## ${type}`)
      expect(page).toContain(stream)
    }
  })
})
