import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseMarkdown, plainText } from './markdown.ts'
import { readMarkdown } from './testing/read-markdown.ts'

const DOCS = join(import.meta.dirname, '../../docs')

const PAGE = `<!-- made by hand -->
# The *page*

First line
and second. With \`code\`.

## How many?

| a | b |
|---|:-:|
| 1 | \`x \\| y\` |
| 2 | |

- one
  goes on
- two

1. first
2. second

\`\`\`json
# not a heading
| not | a table |
\`\`\`
## How many?
`

test('a page is taken apart in its order', () => {
  expect(parseMarkdown(PAGE)).toEqual([
    { kind: 'heading', level: 1, text: 'The *page*', anchor: 'the-page' },
    { kind: 'paragraph', text: 'First line and second. With `code`.' },
    { kind: 'heading', level: 2, text: 'How many?', anchor: 'how-many' },
    {
      kind: 'table',
      header: ['a', 'b'],
      rows: [
        ['1', '`x | y`'],
        ['2', ''],
      ],
    },
    { kind: 'list', isOrdered: false, items: ['one goes on', 'two'] },
    { kind: 'list', isOrdered: true, items: ['first', 'second'] },
    { kind: 'code', text: '# not a heading\n| not | a table |' },
    { kind: 'heading', level: 2, text: 'How many?', anchor: 'how-many-1' },
  ])
})

test('plain text has no marks, and links are their words', () => {
  expect(plainText('**See** [the `log`](log.md#top)\n now')).toBe('See the log now')
})

test('an open fence takes the rest of the page', () => {
  expect(parseMarkdown('```sh\nls\n## x')).toEqual([{ kind: 'code', text: 'ls\n## x' }])
})

test.each(readdirSync(DOCS).filter((name) => name.endsWith('.md')))(
  'the anchors of %s are those that its links are checked by',
  (name) => {
    const text = readFileSync(join(DOCS, name), 'utf8')
    const anchors = parseMarkdown(text).flatMap((block) => (block.kind === 'heading' ? [block.anchor] : []))
    expect(anchors).toEqual(readMarkdown(text).anchors)
  },
)

test('whatever is written ends in blocks, and no word of it is lost', () => {
  const line = fc.oneof(
    fc.constantFrom('# w', '## w?', '- w', '  w', '1. w', ''),
    fc.string({ unit: fc.constantFrom('w', ' ', '#', '`', '-', '*', '[', ']', '(', ')') }),
  )
  const words = (text: string): number => text.match(/w/g)?.length ?? 0
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
      // What stands behind the opening of a fence is its language, and no text.
      fc.pre(!lines.some((one) => one.startsWith('```')))
      const seen = parseMarkdown(lines.join('\n')).map((block) =>
        block.kind === 'list' ? block.items.join(' ') : block.kind === 'table' ? '' : block.text,
      )
      expect(words(seen.join(' '))).toBe(words(lines.join(' ')))
    }),
  )
})

test('tables and fences of every shape end in blocks', () => {
  const line = fc.constantFrom(
    '| a | b |',
    '|---|---|',
    '|',
    '||',
    '|---',
    '```',
    '```ts',
    '| a \\| b |',
    'x',
    '',
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
      const blocks = parseMarkdown(lines.join('\n'))
      expect(blocks.length).toBeLessThanOrEqual(lines.length)
      for (const block of blocks) if (block.kind === 'table') expect(block.header.length).toBeGreaterThan(0)
    }),
  )
})
