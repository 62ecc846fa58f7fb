import { describe, expect, test } from 'vitest'
import { wrapMarkdown } from './wrap-markdown.ts'

const LONG = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ')

describe('wrapped Markdown', () => {
  test('has the same words in lines of at most 120 characters', () => {
    const wrapped = wrapMarkdown(`${LONG}\n\n- ${LONG}`)
    expect(wrapped.split('\n').every((line) => line.length <= 120)).toBe(true)
    expect(wrapped.replaceAll(/\s+/g, ' ')).toBe(`${LONG} - ${LONG}`)
  })

  test('keeps the lines of an item below its text', () => {
    const [first, second] = wrapMarkdown(`- ${LONG}`).split('\n')
    expect(first).toMatch(/^- word0/)
    expect(second).toMatch(/^ {2}word/)
  })

  test.each([`| ${LONG} |`, `# ${LONG}`, `\`\`\`sh\n${LONG}\n\`\`\``, `<!-- ${LONG} -->`])(
    'leaves tables, headings, code and comments alone: %#',
    (text) => {
      expect(wrapMarkdown(text)).toBe(text)
    },
  )

  test('breaks neither links nor code', () => {
    const text = `${'x'.repeat(115)} [a link of words](page.md) \`code of words\` ${LONG}`
    const lines = wrapMarkdown(text).split('\n')
    expect(lines.some((line) => line.includes('[a link of words](page.md)'))).toBe(true)
    expect(lines.some((line) => line.includes('`code of words`'))).toBe(true)
  })

  test('begins no line with the mark of another block', () => {
    const lines = wrapMarkdown(`${'x'.repeat(119)} - ${LONG}`).split('\n')
    expect(lines.filter((line) => line.startsWith('-'))).toEqual([])
  })
})
