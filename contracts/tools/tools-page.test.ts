import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { isToolName, TOOLS, type ToolName } from './tool-catalogue.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/tools.md'), 'utf8')

/** The part of the page about a tool. */
function sectionOf(tool: ToolName): string {
  const [, rest = ''] = PAGE.split(`\n## ${tool}\n`)
  return rest.split('\n## ')[0] ?? ''
}

/** Every field that a JSON schema names, however deep. */
function fieldsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([key, value]) =>
    key === 'properties'
      ? Object.entries(value as object).flatMap(([field, inner]) => [field, ...fieldsOf(inner)])
      : fieldsOf(value),
  )
}

describe.each(Object.keys(TOOLS).filter(isToolName))('the documentation of %s', (tool) => {
  const { request, response } = TOOLS[tool]
  const section = sectionOf(tool)

  test('names every field of its request and its answer', () => {
    const fields = [
      ...fieldsOf(z.toJSONSchema(request, { io: 'input' })),
      ...fieldsOf(z.toJSONSchema(response)),
    ]
    expect(fields.length).toBeGreaterThan(8)
    expect(fields.filter((field) => !section.includes(`\`${field}\``))).toEqual([])
  })

  test('states the defaults that are filled in', () => {
    const { properties = {} } = z.toJSONSchema(request, { io: 'input' })
    const rows = section.split('\n').filter((line) => line.startsWith('| `'))
    for (const [field, schema] of Object.entries(properties)) {
      if (typeof schema === 'boolean' || schema.default === undefined) continue
      const row = rows.find((line) => line.startsWith(`| \`${field}\` |`))
      const stated = row?.split('|').at(-2)?.trim().replaceAll('`', '')
      expect(stated, field).toBe(JSON.stringify(schema.default).replaceAll('"', ''))
    }
  })

  test('shows an answer as it is given', () => {
    const example = section.split('```json\n')[1]?.split('```')[0] ?? ''
    const answer: unknown = JSON.parse(example)
    expect(response.parse(answer)).toEqual(answer)
  })
})
