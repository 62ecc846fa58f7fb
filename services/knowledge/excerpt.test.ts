import { expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { createWriter } from './chat-answer.ts'
import { found, sectionsOf } from './testing/sections.fixture.ts'

const FILLER = 'Bars are counted from midnight and their order is never changed by anybody. '

const SECTIONS = sectionsOf({
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

const { extractive } = createWriter({ publicUrl: () => '', report: () => undefined })
const answerTo = (question: string, sections = SECTIONS): string =>
  extractive(found(question, sections)).answer.split(' [1]')[0] ?? ''

test('a section that has room is quoted whole, as it stands', () => {
  expect(answerTo('What does confidence mean?')).toBe(
    'They answer different questions.\n\n- Confidence is a calibrated probability.\n- Strength is a percentile.',
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
  const answer = answerTo('Which code calls the plumber?')
  expect(answer).toMatch(/^\| code \| what to do \|\n\| --- \| --- \|\n/m)
  expect(answer).toContain('| code_57 | call the plumber |')
  expect(answer.length).toBeLessThanOrEqual(LIMITS.chatExtractCharacters + 20)
})

test('an example that is longer than any answer is left out', () => {
  const answer = answerTo('Which files do I back up while the service runs?')
  expect(answer).toContain('The log and the key, both of them.')
  expect(answer).not.toContain('cp data')
})

test('the second best section is quoted after the best', () => {
  const [KEYS, SECRETS] = [
    '## How do I rotate a key?\n\nRevoke the old one.',
    '## How do I rotate a secret?\n\nThe old one signs for a day.',
  ]
  const { answer, citations } = extractive(
    found(
      'How do I rotate a key or a secret?',
      sectionsOf({ secrets: `# Secrets\n\n${KEYS}\n\n${SECRETS}` }),
    ),
  )
  expect(citations.map(({ id }) => id).toSorted()).toEqual([
    'secrets#how-do-i-rotate-a-key',
    'secrets#how-do-i-rotate-a-secret',
  ])
  expect(answer).toContain('The old one signs for a day.')
  expect(answer).toContain('Revoke the old one.')
})

test('the mark of the citation stays where a quote is cut', () => {
  const long = sectionsOf({ long: `# Long\n\n## What is it?\n\n${FILLER.repeat(80)}` })
  const { answer } = extractive(found('What is counted from midnight?', long))
  expect(answer.length).toBeLessThanOrEqual(LIMITS.chatAnswerCharacters)
  expect(answer).toMatch(/… \[1\]$/)
})
