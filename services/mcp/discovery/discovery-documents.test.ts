import { expect, test } from 'vitest'
import { docPage } from '../../knowledge/corpus/read-pages.ts'
import { ALL_TOOL_NAMES } from '../tool-groups.ts'
import { llmsText, serverJson } from './discovery-documents.ts'

const AT = { version: '1.2.3', url: 'https://signals.example.com' }

test('llms.txt and server.json name every tool, and llms.txt the pages by their readers', () => {
  const pages = [
    docPage('running', '# Running\n\nStart it.\n'),
    docPage('webhooks', '# Webhooks\n\nGet it.\n'),
  ]
  const text = llmsText(pages, AT)
  for (const name of ALL_TOOL_NAMES) expect(text.split(`- \`${name}\``).length, name).toBe(2)
  expect(ALL_TOOL_NAMES.length).toBeGreaterThan(17)
  expect(text).toContain('### Webhooks')
  expect(text.indexOf('## For subscribers')).toBeLessThan(text.indexOf('## For operators'))
  expect(text).toContain('[Webhooks](https://signals.example.com/docs/webhooks.md): Get it.')
  expect(serverJson(AT)).toMatchObject({
    _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { tools: ALL_TOOL_NAMES } },
  })
})
