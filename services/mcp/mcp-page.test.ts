import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createMcpEdge, listen } from './testing/mcp-edge.fixture.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/mcp.md'), 'utf8')
const ADDRESS = 'http://127.0.0.1:8402/mcp'
const blocks = [...PAGE.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({
  language,
  text,
}))
const requests = blocks.filter(({ text }) => text.startsWith('curl '))
const settings = blocks.filter(({ language }) => language === 'json')
const run = promisify(execFile)

const absent = ['bash', 'curl'].filter((tool) => spawnSync(tool, ['--version']).error !== undefined)
const reason = absent.length === 0 ? '' : ` (skipped: ${absent.join(' and ')} not on PATH)`

describe.skipIf(reason !== '')(`requests of the page about MCP${reason}`, () => {
  let app: FastifyInstance
  let url: string

  beforeAll(async () => {
    app = await createMcpEdge()
    url = await listen(app)
  })
  afterAll(() => app.close())

  test.each(requests)('are answered: $text', async ({ text }) => {
    const script = text.replaceAll(ADDRESS, url)
    expect(script).not.toBe(text)
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script])
    const { result } = JSON.parse(stdout) as { result: Record<string, unknown> }
    expect(result.isError ?? false).toBe(false)
    expect(result.structuredContent ?? result.contents).toBeDefined()
  })

  test('are three', () => {
    expect(requests).toHaveLength(3)
  })
})

test.each(settings)('settings for a client are JSON and name the address: $text', ({ text }) => {
  expect(JSON.stringify(JSON.parse(text))).toContain(ADDRESS)
})

test('the page has settings for three clients', () => {
  expect(settings).toHaveLength(3)
})
