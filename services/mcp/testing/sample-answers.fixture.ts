import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import type { ToolName } from '../../../contracts/tools/tool-catalogue.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/tools.md'), 'utf8')

/** The answer of a tool that its documentation shows, with what the channel says of itself and the caller. */
export function sampleAnswer(tool: ToolName): JsonObject {
  const [, section = ''] = PAGE.split(`\n## ${tool}\n`)
  const [, example = ''] = section.split('```json\n')
  const answer = JSON.parse(example.split('```')[0] ?? '') as JsonObject
  return { ...answer, _service: { ...SERVICE, tool } }
}

const SERVICE: JsonObject = {
  version: '1.2.3',
  request_id: 'request-1',
  market: 'simulated',
  auth: { outcome: 'OK', tier: 'starter' },
  quota: {
    remaining: 9_999,
    limit: 10_000,
    used: 1,
    resets_at: '2026-12-20T00:00:00.000Z',
    daily: null,
  },
  notice: 'Information, not advice.',
}
