import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createAnswerability } from './answerable.ts'
import { readAsked } from './asked.ts'
import { blockText } from './markdown.ts'
import { cite, createSearchIndex, wordsOf } from './search.ts'
import { sectionsOf } from './testing/sections.fixture.ts'

const PAGES = {
  quotas: `# Quotas

Every answered call counts one.

## How many calls are there?

| tier | calls | a day |
|---|---|---|
| free | 200 | 100 |
| pro | 100,000 | |

## Can a call be repeated safely?

Send an \`Idempotency-Key\`. The same key has the stored answer.
`,
  webhooks: `# Webhooks

## How do I verify a signature?

Recompute the HMAC over the timestamp and the body. Compare it in constant time.

\`\`\`ts
createHmac('sha256', secret)
\`\`\`

## Which events are there?

A delivery is one event: trade_call, regime_shift or scan_digest. It mentions a quota once.
`,
}

const index = createSearchIndex(sectionsOf(PAGES))
const search = (text: string, at = index) =>
  at.find(text).map(({ section }) => cite(section, at.valueOf(text), 'https://signals.example'))
const ids = (text: string): string[] => search(text).map(({ id }) => id)

describe('a section is found', () => {
  test.each([
    ['by another form of a word', 'verifying signatures', 'webhooks#how-do-i-verify-a-signature'],
    ['by its heading before one that mentions the word', 'quota', 'quotas#quotas'],
    ['by the name of an event, in one piece', 'regime_shift', 'webhooks#which-events-are-there'],
    ['by what stands in its example', 'createHmac', 'webhooks#how-do-i-verify-a-signature'],
    ['by a row of its table', 'pro tier', 'quotas#how-many-calls-are-there'],
    ['by a misspelt word', 'signiture', 'webhooks#how-do-i-verify-a-signature'],
    ['by a word with a letter too many', 'quotta', 'quotas#quotas'],
    ['in capitals and with marks', '«IDEMPOTENCY»-key!?', 'quotas#can-a-call-be-repeated-safely'],
  ])('%s', (_how, text, id) => {
    expect(ids(text)[0]).toBe(id)
  })

  test('once, however many of its parts fit, with an address and the part that fits', () => {
    expect(search('hmac')).toEqual([
      {
        id: 'webhooks#how-do-i-verify-a-signature',
        title: 'Webhooks: How do I verify a signature?',
        url: 'https://signals.example/docs/webhooks#how-do-i-verify-a-signature',
        excerpt: expect.stringContaining('Recompute the HMAC over the timestamp'),
      },
    ])
  })

  test('with an excerpt of its own', () => {
    const hits = index.find('key quota delivery event')
    expect(hits.length).toBeGreaterThan(3)
    for (const { section } of hits) {
      const text = section.blocks.map(blockText).join(' ').replaceAll(/\s+/g, ' ')
      const { excerpt } = cite(section, index.valueOf('key quota delivery event'), '')
      for (const part of excerpt.split('…')) expect(text).toContain(part.trim())
    }
  })

  test('in a long section by the part that fits', () => {
    const rows = Array.from({ length: 60 }, (_, n) => `| code_${n} | what number${n} means in general |`)
    const text = ['# Long', '', '| code | meaning |', '|---|---|', ...rows].join('\n')
    const found = search('number57', createSearchIndex(sectionsOf({ long: text })))
    expect(found).toEqual([
      expect.objectContaining({ id: 'long#long', excerpt: expect.stringContaining('number57') }),
    ])
  })
})

test('another word is not taken for a misspelt one', () => {
  const small = createSearchIndex(
    sectionsOf({ one: '# One\n\nTrends and fields of pairs, told by regimes and their verification.' }),
  )
  const found = (text: string): number => small.find(text).length
  expect([found('friendship'), found('bank'), found('verfication')]).toEqual([0, 0, 1])
})

describe('what a caller writes', () => {
  test.each([
    '"unbalanced',
    'quota AND NOT',
    'title:quota',
    '{title} : quota',
    'quota*',
    'NEAR(quota call, 2)',
    '^quota',
    "'; DROP TABLE passages; --",
    '<script>alert(1)</script>',
    '" OR "',
    'quota\0',
    'words MATCH 1',
  ])('is never read as an operator: %j', (text) => {
    expect(() => ids(text)).not.toThrow()
    expect(ids('quota')[0]).toBe('quotas#quotas')
  })

  test('of any kind is searched for without failing, and scores are finite', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        for (const { score } of index.find(text)) expect(Number.isFinite(score) && score > 0).toBe(true)
      }),
    )
  })

  test('that no passage knows finds nothing', () => {
    expect(ids('pizza')).toEqual([])
  })
})

test('words are in lower case, without marks', () => {
  expect(wordsOf('What’s a "Regime_Shift"?')).toEqual(['whats', 'a', 'regime', 'shift'])
})

describe('how people ask', () => {
  const asked = readAsked(`lines before the first section are for editors

@quotas#how-many-calls-are-there
what is my budget for a month

@nothing
which broker is the cheapest for a month
`)
  test('finds a section that has none of its words, and shows nothing of it', () => {
    const [best] = search('my budget', createSearchIndex(sectionsOf(PAGES), asked))
    expect(best?.id).toBe('quotas#how-many-calls-are-there')
    expect(best?.excerpt).not.toContain('budget')
  })

  test('tells a question that no page answers from one that a page does', () => {
    const sections = sectionsOf(PAGES)
    const isAnswerable = createAnswerability(sections, asked)
    const at = createSearchIndex(sections, asked)
    const answers = (text: string): boolean => isAnswerable(text, at.find(text)[0] ?? { coverage: 0 })
    expect(answers('Which broker is the cheapest for a month?')).toBe(false)
    expect(answers('How do I verify a signature?')).toBe(true)
  })
})
