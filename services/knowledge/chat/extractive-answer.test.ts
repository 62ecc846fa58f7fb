import { expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { findSections } from '../search/find-sections.ts'
import { aShelf } from '../testing/sections.fixture.ts'
import { extractiveAnswer } from './extractive-answer.ts'

const FILLER = 'Bars are counted from midnight and their order is never changed by anybody. '

const { index } = aShelf({
  numbers: `# Numbers

## What are confidence and strength?

They answer different questions and never mix.

**Confidence** is a calibrated probability. A 55 means that the side comes first 55 times in 100.

**Strength** is a percentile among the last bars. It ranks; it is no probability, and its confidence is another matter.
`,
  backup: `# Keeping copies

## Which files do I back up?

The files to back up are the log and the key. Without the key the log is refused.

This is done while the service runs:

\`\`\`sh
${'cp data/events.db copies/ # and so on\n'.repeat(12)}\`\`\`

It takes a second.
`,
  states: `# States

## How is a subscription doing?

A look at the list tells it.

| state | meaning | leaves it by |
|---|---|---|
| active | signals are sent as they come to the endpoint | nothing |
${Array.from({ length: 12 }, (_, n) => `| state${n} | ${FILLER.trim()} | waiting until the end of the window |`).join('\n')}
| disabled | no success for five days, so it is not tried any more | resuming it by a request of its owner |
`,
  steps: `# Checking

## How do I check a delivery?

1. Take the body as bytes.
2. Compute the HMAC of it.
3. Only then read it.
`,
  rotation: `# Rotating

## What do I do while the secret is rotated?

${FILLER.repeat(9)}

Old and new secret sign while they overlap. That ends after a day, and the older one is forgotten.
`,
})

function answerTo(question: string) {
  const query = index.understand(question)
  return extractiveAnswer(index, question, query, findSections(index, query))
}

test('what something means is answered by its definition, not by a sentence that only uses the word', () => {
  const { answer } = answerTo('What does confidence mean?')
  expect(answer).toBe(
    'Confidence is a calibrated probability. A 55 means that the side comes first 55 times in 100. [1]',
  )
  expect(answerTo('what is strenght').answer).toMatch(
    /^Strength is a percentile among the last bars\. It ranks/,
  )
})

test('a row that defines what was asked for is enough', () => {
  expect(answerTo('What does disabled mean?').answer).toBe(
    '- disabled (meaning no success for five days, so it is not tried any more): resuming it by a request of its owner. [1]',
  )
})

test('what defines several things that were asked for is given for each of them', () => {
  expect(answerTo('What do disabled and active mean?').answer).toMatch(/^- active: .*\n- disabled [^\n]*$/)
})

test('a section that the question names is quoted from its beginning, without what announces something left out', () => {
  expect(answerTo('Which files do I have to back up?').answer).toBe(
    'The files to back up are the log and the key. Without the key the log is refused. [1]',
  )
})

test('of a long table the rows that say what was asked for are given', () => {
  const { answer } = answerTo('Why is my subscription not tried, without success?')
  expect(answer).toContain('- disabled')
  expect(answer).not.toContain('state1')
})

test('a list stands whole and in its order', () => {
  expect(answerTo('How do I check the HMAC of a delivery?').answer).toBe(
    '- Take the body as bytes.\n- Compute the HMAC of it.\n- Only then read it. [1]',
  )
})

test('a place far down is quoted with the sentences that it leans on', () => {
  const { answer } = answerTo('When is the older one forgotten, after a day?')
  expect(answer).toBe(
    'Old and new secret sign while they overlap. That ends after a day, and the older one is forgotten. [1]',
  )
})

test('a second section is quoted where it says what the first does not, and no other', () => {
  const two = answerTo('Do I check a delivery when the older secret is forgotten?')
  expect(two.sections.map(({ passage }) => passage.page).toSorted()).toEqual(['rotation', 'steps'])
  expect(answerTo('What does strength mean?').sections).toHaveLength(1)
})

test('an answer is no longer than its limits, and says how much of the question it knows', () => {
  const { answer, coverage } = answerTo('In which order are bars counted from midnight?')
  expect(answer.length).toBeLessThanOrEqual(LIMITS.chatExtractCharacters * 1.5 + 20)
  expect(coverage).toBeGreaterThan(0.5)
  expect(answerTo('Which shares of Nasdaq pay in bytes?').coverage).toBeLessThan(0.4)
})
