import { fromJsonSchema } from '@modelcontextprotocol/server'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { EXCHANGES } from '../../contracts/domain/series.ts'
import { TIMEFRAMES } from '../../contracts/domain/timeframes.ts'
import { TOOLS, type ToolDefinition, type ToolName } from '../../contracts/tools/tool-catalogue.ts'
import { fakeKnowledgeService } from '../http/testing/knowledge-service.fixture.ts'
import type { WebhookService } from '../http/webhook-service.ts'
import { sampleAnswer } from './testing/sample-answers.fixture.ts'
import { ALL_TOOL_NAMES, freeTools, listedTools, TOOL_GROUPS } from './tools.ts'

const REFUSAL = { code: 'quota_exhausted', message: 'No calls are left.', next_step: 'Wait.' }

/** Fields that answers lack: where the model has shown no skill at what they say, or a verdict was recorded without. */
const LEFT_OUT: ReadonlySet<string> = new Set(['unconfirmed', 'percentile_bars', 'direction', 'liveliness'])

const isValid = async (schema: object, value: unknown): Promise<boolean> =>
  !('issues' in (await fromJsonSchema(schema)['~standard'].validate(value)))

describe.each(listedTools().map((tool) => [tool.name as ToolName, tool] as const))('%s', (name, tool) => {
  test('admits its answer, with fields that are added later, and refusals', async () => {
    const answer = sampleAnswer(name)
    expect(await isValid(tool.outputSchema, answer)).toBe(true)
    expect(await isValid(tool.outputSchema, { ...answer, added_later: 1 })).toBe(true)
    expect(await isValid(tool.outputSchema, REFUSAL)).toBe(true)
    expect(await isValid(tool.outputSchema, { ...REFUSAL, details: { available: ['SIM'] } })).toBe(true)
  })

  test('admits neither an answer without what belongs to it, nor anything else', async () => {
    const { _service, ...bare } = sampleAnswer(name)
    expect(await isValid(tool.outputSchema, bare)).toBe(false)
    for (const field of Object.keys(bare)) {
      if (LEFT_OUT.has(field)) continue
      expect(await isValid(tool.outputSchema, { ...bare, _service, [field]: undefined }), field).toBe(false)
    }
    expect(await isValid(tool.outputSchema, {})).toBe(false)
    expect(await isValid(tool.outputSchema, { code: 'quota_exhausted' })).toBe(false)
  })

  test('shows callers what it takes', () => {
    expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
    expect(tool).toMatchObject({
      title: TOOLS[name].title,
      description: TOOLS[name].description,
      annotations: { readOnlyHint: true, openWorldHint: true },
    })
  })
})

test('no answer uses a name that only refusals have', () => {
  for (const name of Object.keys(TOOLS) as ToolName[]) {
    expect(
      Object.keys(sampleAnswer(name)).filter((field) =>
        ['code', 'message', 'next_step', 'details'].includes(field),
      ),
    ).toEqual([])
  }
})

const allTools = listedTools(
  freeTools({
    knowledge: fakeKnowledgeService().service,
    history: { regimeShifts: () => expect.fail() },
    webhooks: {} as WebhookService,
    checkKey: async () => 'ok',
    sources: { exchanges: () => ['SIM'] },
  }),
)

test('the list of all tools takes less than 25 KB of a model’s context', () => {
  expect(allTools.map(({ name }) => name)).toEqual(ALL_TOOL_NAMES)
  expect(Buffer.byteLength(JSON.stringify({ tools: allTools }))).toBeLessThan(25_000)
})

test('every field of an answer that needs explaining is explained once, and every choice of an argument is shown', () => {
  const list = JSON.stringify(allTools)
  for (const { tools } of TOOL_GROUPS) {
    for (const { request, response } of Object.values(tools as Record<string, ToolDefinition>)) {
      const { properties: asked = {} } = z.toJSONSchema(request, { io: 'input' })
      const { properties = {} } = z.toJSONSchema(response)
      for (const [field, schema] of Object.entries(properties)) {
        const { description } = schema as { description?: string }
        if (description === undefined || field in asked) continue
        expect(list.split(`"${field}":{"description":${JSON.stringify(description)}}`).length, field).toBe(2)
      }
    }
  }
  const create = allTools.find(({ name }) => name === 'create_webhook')
  const fields = create?.inputSchema.properties as Record<string, { type?: string; enum?: string[] }>
  expect(fields.timeframe?.enum).toEqual(TIMEFRAMES)
  expect(fields.exchange?.enum).toEqual(EXCHANGES)
  expect(fields.top_n).toMatchObject({ type: 'integer', minimum: 1, maximum: 100 })
})

test('a tool that is added later is explained, whichever was listed before', () => {
  const [alone] = listedTools()
  expect(listedTools()[0]).toEqual(alone)
  expect(allTools[0]).toEqual(alone)
})
