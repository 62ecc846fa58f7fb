import { expect, test } from 'vitest'
import { ERRORS } from '../contracts/errors/errors.ts'
import { EVENT_CATALOGUE } from '../contracts/events/event-catalogue.ts'
import { SETTINGS } from '../services/runtime/config/settings.ts'
import { referencePages } from './reference-pages.ts'

const pages = referencePages()
const pageOf = (name: string): string => pages[name] ?? ''

test('name every event with its stream, every error and every setting', () => {
  for (const { type, stream } of Object.values(EVENT_CATALOGUE)) {
    expect(pageOf('events.md')).toContain(`| \`${type}\` |`)
    expect(pageOf('events.md')).toContain(stream)
  }
  for (const code of Object.keys(ERRORS)) expect(pageOf('errors.md')).toContain(`| \`${code}\` |`)
  for (const [name, { flag }] of Object.entries(SETTINGS)) {
    expect(pageOf('settings.md')).toContain(`| \`${name}\` | \`--${flag}\` |`)
  }
})
