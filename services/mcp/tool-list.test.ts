import { fromJsonSchema } from '@modelcontextprotocol/server'
import { describe, expect, test } from 'vitest'
import { TOOLS, type ToolName } from '../../contracts/tools/tool-catalogue.ts'
import { sampleAnswer } from './testing/sample-answers.fixture.ts'
import { listedTools } from './tool-list.ts'

const REFUSAL = { code: 'quota_exhausted', message: 'No calls are left.', next_step: 'Wait.' }

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
      expect(await isValid(tool.outputSchema, { ...bare, _service, [field]: undefined }), field).toBe(false)
    }
    expect(await isValid(tool.outputSchema, { ...sampleAnswer(name), _service: {} })).toBe(false)
    expect(await isValid(tool.outputSchema, {})).toBe(false)
    expect(await isValid(tool.outputSchema, { code: 'quota_exhausted' })).toBe(false)
  })

  test('names the fields of the tool’s own answer at its root', () => {
    const { required } = (tool.outputSchema.anyOf as { required: string[] }[])[0] ?? { required: [] }
    expect(required).toContain('_service')
    expect(Object.keys(tool.outputSchema.properties as object)).toEqual(expect.arrayContaining(required))
    expect(tool.outputSchema.properties).not.toHaveProperty('code.enum')
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

test('the list is short enough to be read by a model', () => {
  expect(JSON.stringify(listedTools()).length).toBeLessThan(32_000)
})
