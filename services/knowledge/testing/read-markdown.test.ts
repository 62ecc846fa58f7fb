import { expect, test } from 'vitest'
import { readMarkdown, spansOf } from './read-markdown.ts'

const PAGE = `# What's a \`row\`?

See [the other](other.md#part-2) and \`[not](this.md)\`.

## Part 2
## Part 2

| Code | Status |
|---|---|
| \`a_b\`, \`c\` | 404 |
| \`d\` | |

\`\`\`bash
# no heading, [no link](nowhere.md), \`no span\`
curl x
\`\`\`
`

test('takes a page apart', () => {
  expect(readMarkdown(PAGE)).toEqual({
    anchors: ['whats-a-row', 'part-2', 'part-2-1'],
    links: ['other.md#part-2'],
    spans: ['row', '[not](this.md)', 'a_b', 'c', 'd'],
    blocks: [{ language: 'bash', text: '# no heading, [no link](nowhere.md), `no span`\ncurl x\n' }],
    rows: [
      { code: '`a_b`, `c`', status: '404' },
      { code: '`d`', status: '' },
    ],
  })
})

test('finds every span of a cell', () => {
  expect(spansOf('`a_b`, `c` and d')).toEqual(['a_b', 'c'])
})
