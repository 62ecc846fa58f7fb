import { expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { findSections } from '../search/find-sections.ts'
import { aShelf } from '../testing/sections.fixture.ts'
import { extractiveAnswer } from './extractive-answer.ts'

const FILLER = 'Bars are counted from midnight and their order is never changed by anybody. '

const { index } = aShelf({
  numbers: `# Numbers

Two of them.

## What are confidence and strength?

They answer different questions.

- **Confidence** is a calibrated probability.
- **Strength** is a percentile.
`,
  states: `# States

## How is a subscription doing?

${FILLER.repeat(20)}

These are its states:

| state | leaves it by |
|---|---|
| active | nothing |
| paused | a \`resume\` of its owner \\| or time |
| disabled | resuming it |

${FILLER.repeat(20)}
`,
  codes: `# Codes

Each has a number.

| code | what to do |
|---|---|
${Array.from({ length: 80 }, (_, n) => `| code_${n} | ${n === 57 ? 'call the plumber' : FILLER.trim()} |`).join('\n')}
`,
  backup: `# Copies

## Which files do I back up?

The log and the key, both of them. This is done while the service runs:

\`\`\`sh
${'cp data/events.db copies/ # and so on\n'.repeat(60)}\`\`\`

It takes a second.
`,
})

function answerTo(question: string): string {
  const query = index.understand(question)
  return extractiveAnswer(index, query, findSections(index, query)).answer
}

test('a section that has room is quoted whole, as it stands', () => {
  expect(answerTo('What does confidence mean?')).toBe(
    'They answer different questions.\n\n- Confidence is a calibrated probability.\n- Strength is a percentile. [1]',
  )
})

test('of a longer one the pieces are quoted that say most, a table whole, with its header and what introduces it', () => {
  const answer = answerTo('By which states does a paused subscription leave?')
  expect(answer).toContain(
    'These are its states:\n\n| state | leaves it by |\n| --- | --- |\n| active | nothing |\n| paused | a resume of its owner \\| or time |\n| disabled | resuming it |',
  )
  expect(answer.length).toBeLessThanOrEqual(LIMITS.chatExtractCharacters + 20)
})

test('of a table that is longer than any answer the rows that say what was asked for are given, under its header', () => {
  const answer = answerTo('For which code do I call the plumber?')
  expect(answer).toMatch(/^\| code \| what to do \|\n\| --- \| --- \|\n/m)
  expect(answer).toContain('| code_57 | call the plumber |')
  expect(answer.length).toBeLessThanOrEqual(LIMITS.chatExtractCharacters + 20)
})

test('an example that is longer than any answer is left out', () => {
  const answer = answerTo('Which files do I back up while the service runs?')
  expect(answer).toContain('The log and the key, both of them.')
  expect(answer).not.toContain('cp data')
})

const KEYS = '## How do I rotate a key?\n\nAsk for another key, and revoke the old one.'
const SECRETS = '## How do I rotate a secret?\n\nThe old one signs for a day.'

function quotedIn(texts: Readonly<Record<string, string>>, question: string) {
  const { index: own } = aShelf(texts)
  const query = own.understand(question)
  const { answer, sections } = extractiveAnswer(own, query, findSections(own, query))
  return { answer, ids: sections.map(({ section }) => section.id) }
}

test('a second section of the same page is quoted where it adds what the question names', () => {
  const { answer, ids } = quotedIn(
    { secrets: `# Secrets\n\n${KEYS}\n\n${SECRETS}` },
    'How do I rotate a key or a secret?',
  )
  expect(ids.toSorted()).toEqual(['secrets#how-do-i-rotate-a-key', 'secrets#how-do-i-rotate-a-secret'])
  expect(answer).toContain('The old one signs for a day.')
  expect(answer).toContain('Ask for another key, and revoke the old one.')
})

test('one that adds nothing is not quoted, and none of another page, which may put it in another way', () => {
  const more = '## How do I rotate again?\n\nAs before.'
  expect(quotedIn({ secrets: `# Secrets\n\n${SECRETS}\n\n${more}` }, 'How do I rotate?').ids).toHaveLength(1)
  const pages = { key: `# Keys\n\n${KEYS}`, secret: `# Secrets\n\n${SECRETS}` }
  expect(quotedIn(pages, 'How do I rotate a key or a secret?').ids).toHaveLength(1)
})

test('the mark of the citation stays where a quote is cut', () => {
  const { index: long } = aShelf({ long: `# Long\n\n## What is it?\n\n${FILLER.repeat(80)}` })
  const query = long.understand('What is counted from midnight?')
  const { answer } = extractiveAnswer(long, query, findSections(long, query))
  expect(answer.length).toBeLessThanOrEqual(LIMITS.chatAnswerCharacters)
  expect(answer).toMatch(/… \[1\]$/)
})
