import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { skillFile } from '../../tools/skill-file.ts'
import { wrapSkill } from '../../tools/wrap-markdown.ts'
import { asksOf, PROMPTS, servedPrompts } from './prompts.ts'
import { ALL_TOOL_NAMES } from './tool-groups.ts'

const ALL = ALL_TOOL_NAMES.map((name) => ({ name }))
const refusal = (act: () => unknown): string => {
  try {
    act()
  } catch (error) {
    return (error as Error).message
  }
  return 'none'
}

describe.each(PROMPTS.map((prompt) => [prompt.name, prompt] as const))('%s', (name, prompt) => {
  test('asks tools of the registry for what they take', () => {
    const examples = Object.fromEntries(
      Object.entries(prompt.fields).map(([field, { example }]) => [field, example]),
    )
    for (const { tool, request } of asksOf(prompt, examples)) {
      expect(ALL_TOOL_NAMES).toContain(tool)
      expect(JSON.stringify(request)).not.toMatch(/\{[a-z]+\}/)
    }
    expect(servedPrompts(ALL).get(name, examples).messages[0]?.content.text).toContain(
      'Information, not advice.',
    )
  })

  test('is a skill, as the file has it', () => {
    const file = resolve(import.meta.dirname, '../../clients/skills', name, 'SKILL.md')
    expect(readFileSync(file, 'utf8')).toBe(wrapSkill(skillFile(prompt)))
    expect(skillFile(prompt)).toMatch(/^---\nname: [a-z-]{1,64}\ndescription: .{20,1024}\n---\n/)
  })
})

test('a prompt is served where all its tools are', () => {
  const without = ALL.filter(({ name }) => name !== 'test_webhook')
  expect(servedPrompts(ALL).list).toHaveLength(PROMPTS.length)
  expect(servedPrompts(without).list.map(({ name }) => name)).not.toContain('be-told-of-calls')
  expect(refusal(() => servedPrompts(without).get('be-told-of-calls'))).toMatch(/no such prompt/)
})

test('what a tool would refuse is refused, and what is too long', () => {
  const get = (name: string, sent?: Record<string, string>) => servedPrompts(ALL).get(name, sent)
  expect(refusal(() => get('read-one-coin'))).toMatch(/needs coin/)
  expect(refusal(() => get('read-one-coin', { coin: 'BTC', more: 'x' }))).toMatch(/takes coin, timeframe/)
  expect(refusal(() => get('compare-funding', { hours: 'a day' }))).toMatch(/holding_hours/)
  expect(refusal(() => get('read-one-coin', { coin: 'B'.repeat(10_000) }))).toMatch(/coin/)
  expect(refusal(() => get('constructor'))).toMatch(/no such prompt/)
})
