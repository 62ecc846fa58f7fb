import { expect, test } from 'vitest'
import { ERRORS } from '../contracts/errors.ts'
import { EVENT_CATALOGUE } from '../contracts/event-catalogue.ts'
import { SETTINGS } from '../services/runtime/config/settings.ts'
import { referencePages } from './reference-pages.ts'

const pages = referencePages(['It is a model.'])
const pageOf = (name: string): string => pages[name] ?? ''

test('name every event with its stream, every error and every setting', () => {
  for (const { type, stream } of Object.values(EVENT_CATALOGUE)) {
    expect(pageOf('events.md')).toContain(`| [\`${type}\`](`)
    expect(pageOf('events.md')).toContain(stream)
  }
  for (const code of Object.keys(ERRORS)) expect(pageOf('errors.md')).toContain(`| \`${code}\` |`)
  for (const [name, { flag }] of Object.entries(SETTINGS)) {
    expect(pageOf('settings.md')).toContain(`| \`${name}\` | \`--${flag}\` |`)
  }
})

test('have a page for the sections about the model', () => {
  expect(pageOf('model.md')).toContain('# The verdict model\n\nIt is a model.\n')
})
