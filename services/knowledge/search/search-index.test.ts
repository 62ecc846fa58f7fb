import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { blockText } from '../corpus/block-text.ts'
import { readAsked } from '../corpus/read-asked.ts'
import { docPage } from '../corpus/read-pages.ts'
import { splitPage } from '../corpus/split-page.ts'
import { cite, findSections } from './find-sections.ts'
import { queryWords } from './query-words.ts'
import { SearchIndex } from './search-index.ts'

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

const index = new SearchIndex(Object.entries(PAGES).flatMap(([name, text]) => splitPage(docPage(name, text))))
const search = (text: string) => {
  const query = index.understand(text)
  return cite(index, query, findSections(index, query), 'https://signals.example')
}
const ids = (text: string): string[] => search(text).map(({ id }) => id)

describe('a section is found', () => {
  test.each([
    ['by another form of a word', 'verifying signatures', 'webhooks#how-do-i-verify-a-signature'],
    ['by its heading before one that mentions the word', 'quota', 'quotas#quotas'],
    ['by the name of an event, in one piece', 'regime_shift', 'webhooks#which-events-are-there'],
    ['by what stands in its example', 'createHmac', 'webhooks#how-do-i-verify-a-signature'],
    ['by a row of its table', 'pro tier', 'quotas#how-many-calls-are-there'],
    ['by a misspelt word', 'signiture', 'webhooks#how-do-i-verify-a-signature'],
    ['by a short word with two letters swapped', 'qouta', 'quotas#quotas'],
    ['by a word of the same meaning', 'allowance', 'quotas#quotas'],
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
    const query = index.understand('key quota delivery event')
    const sections = findSections(index, query)
    expect(sections.length).toBeGreaterThan(3)
    for (const [place, { excerpt }] of cite(index, query, sections, '').entries()) {
      const { section } = sections[place] ?? expect.fail('there is no such section')
      const text = section.blocks.map(blockText).join(' ').replaceAll(/\s+/g, ' ')
      for (const part of excerpt.split('…')) expect(text).toContain(part.trim())
    }
  })

  test('in a long section by the part that fits', () => {
    const rows = Array.from({ length: 60 }, (_, n) => `| code_${n} | what number${n} means in general |`)
    const page = docPage('long', ['# Long', '', '| code | meaning |', '|---|---|', ...rows].join('\n'))
    const long = new SearchIndex(splitPage(page))
    const query = long.understand('number57')
    const found = cite(long, query, findSections(long, query), '')
    expect(found).toHaveLength(1)
    expect(found[0]).toMatchObject({ id: 'long#long', excerpt: expect.stringContaining('number57') })
  })
})

test('another word is not taken for a misspelt one', () => {
  const page = docPage('one', '# One\n\nTrends and fields of pairs, told by regimes and their verification.')
  const small = new SearchIndex(splitPage(page))
  const sectionsOf = (text: string) => small.understand(text).words.map(({ rows }) => rows.size)
  expect(sectionsOf('friends')).toEqual([0])
  expect(sectionsOf('bank')).toEqual([0])
  expect(sectionsOf('verfication')).toEqual([1])
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
        const query = index.understand(text)
        for (const { score, coverage } of findSections(index, query)) {
          expect(Number.isFinite(score) && score > 0).toBe(true)
          expect(coverage).toBeGreaterThanOrEqual(0)
          expect(coverage).toBeLessThanOrEqual(1)
        }
      }),
    )
  })

  test('that no passage knows finds nothing', () => {
    expect(ids('pizza')).toEqual([])
  })
})

describe('the words of a query', () => {
  test('leave out those that tell nothing, unless there are no others', () => {
    expect(queryWords('How do I get a key?')).toEqual(['key'])
    expect(queryWords('what is it')).toEqual(['what', 'is', 'it'])
  })

  test('are at most so many, each once', () => {
    const many = Array.from({ length: 100 }, (_, n) => `word${n} word${n}`).join(' ')
    expect(queryWords(many)).toHaveLength(32)
  })
})

describe('how people ask', () => {
  const asked = readAsked(`lines before the first section are for editors

@quotas#how-many-calls-are-there
what is my budget for a month

@nothing
which broker is the cheapest for a month
`)
  const sections = Object.entries(PAGES).flatMap(([name, text]) => splitPage(docPage(name, text)))
  const knowing = new SearchIndex(sections, asked)

  test('finds a section that has none of its words, and shows nothing of it', () => {
    const query = knowing.understand('the budget for a month')
    const [best] = findSections(knowing, query)
    expect(best?.section.id).toBe('quotas#how-many-calls-are-there')
    expect(best?.agreement).toBeGreaterThan(0.5)
    expect(cite(knowing, query, best === undefined ? [] : [best], '')[0]?.excerpt).not.toContain('budget')
  })

  test('tells a question that no page answers from one that a page does', () => {
    const nearness = (text: string) => knowing.unanswered(knowing.understand(text))
    expect(nearness('Which broker is the cheapest?')).toBeGreaterThan(0.4)
    expect(nearness('How do I verify a signature?')).toBe(0)
  })
})

test('sections of a generated page say that they are of a reference', () => {
  const references = (text: string) => splitPage(docPage('page', text)).map(({ isReference }) => isReference)
  expect(references('# Running\n\nFor operators. How to run it.\n\n## Where?\n\nThere.')).toEqual([
    false,
    false,
  ])
  expect(references('<!-- Generated -->\n\n# Errors\n\nAll of them.')).toEqual([true])
})
