import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { checkCompletion } from './check-completion.ts'
import { found } from './testing/sections.fixture.ts'

const { sections } = found('Which quota has a webhook secret?')
const [first, second] = sections.map(({ id }) => id)

const read = (text: string) => checkCompletion(text, sections)
const answerOf = (text: string): string => {
  const outcome = read(text)
  return outcome.kind === 'answer' ? outcome.answer : outcome.kind
}

test('an answer keeps the citations of what was given, numbered as they come', () => {
  expect(read('Signed [2]. Counted [1], as said [2].')).toMatchObject({
    kind: 'answer',
    answer: 'Signed [1]. Counted [2], as said [1].',
    sections: [{ id: second }, { id: first }],
  })
})

test('citations of what was not given are dropped', () => {
  expect(answerOf('Counted [1][7] and signed [0] [9999].')).toBe('Counted [1] and signed.')
})

describe.each([
  ['nothing is cited', 'Two hundred calls.'],
  ['all that is cited was not given', 'Two hundred calls [17].'],
  ['there is nothing but a citation', ' [1] '],
  ['there is nothing at all', '\u0000\u200b'],
])('an answer in which %s', (_what, text) => {
  test('is not used', () => {
    expect(read(text).kind).toBe('unusable')
  })
})

test.each(['NOT IN THE DOCUMENTATION', ' NOT IN THE DOCUMENTATION.\n'])(
  '%j is an answer of its own',
  (text) => {
    expect(read(text)).toEqual({ kind: 'not said' })
  },
)

describe('what a model was talked into', () => {
  test.each([
    ['HTML', 'See <img src=x onerror=alert(1)> [1]', 'See ‹img src=x onerror=alert(1)› [1]'],
    ['an address of its own', 'Log in at https://evil.example/a?q=1 [1]', 'Log in at (address left out) [1]'],
    ['one in capitals', 'HTTPS://EVIL.EXAMPLE [1]', '(address left out) [1]'],
    ['a link in Markdown', '[here](javascript:alert(1)) [1]', '[here]((address left out))) [1]'],
    ['a name that browsers complete', 'go to www.evil.example now [1]', 'go to (address left out) now [1]'],
    ['a bare host', 'Ask evil.example.com/help first [1]', 'Ask (address left out) first [1]'],
    ['a host of other letters', 'Ask evіl.примеp [1]', 'Ask (address left out) [1]'],
    ['mail', 'Write to Help.Desk+1@evil.example [1]', 'Write to (address left out) [1]'],
    ['a handle', 'Ask @evil_support [1]', 'Ask (address left out) [1]'],
    ['another scheme', 'Open tg://resolve?domain=evil [1]', 'Open (address left out) [1]'],
    [
      'an IP address',
      'Use 203.0.113.7 or 2001:db8::7:1 [1]',
      'Use (address left out) or (address left out) [1]',
    ],
    ['a wallet', `Pay 0x${'ab'.repeat(20)} [1]`, 'Pay (address left out) [1]'],
    [
      'a wallet of Bitcoin',
      'Pay bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq [1]',
      'Pay (address left out) [1]',
    ],
    ['control characters', 'a\u001b[31mred\u0007 [1]', 'a [31mred [1]'],
    ['marks that turn text around', 'a\u202eb\u200b [1]', 'a b [1]'],
  ])('%s is made harmless', (_what, text, harmless) => {
    const answer = answerOf(text)
    expect(answer).not.toMatch(/[<>\p{Cc}\p{Cf}]|evil\.example|javascript:/iu)
    expect(answer).toBe(harmless)
  })

  test.each(['Wait 1.5 s: it says so, e.g. 10:30:00 UTC [1]', 'Note: two of 3.5, i.e. a few [1]'])(
    '%s stays',
    (text) => {
      expect(answerOf(text)).toBe(text)
    },
  )

  test('an address that a passage has may be told', () => {
    expect(answerOf('See https://docs.example/hmac [1]')).toBe('See https://docs.example/hmac [1]')
  })

  test('more than an answer holds is cut behind a word', () => {
    const answer = answerOf(`[1] ${'word '.repeat(10_000)}`)
    expect(answer.length).toBeLessThanOrEqual(LIMITS.chatAnswerCharacters)
    expect(answer).toMatch(/word …$/)
  })
})

test('whatever a model writes, the answer is harmless, short, and cites only what it was given', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom('[1]', '[2]', '[3]', '<b>', 'http://x'),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const outcome = read(pieces.join(' '))
      if (outcome.kind !== 'answer') return
      expect(outcome.answer.isWellFormed()).toBe(true)
      expect(outcome.answer).not.toMatch(/[<>]|(?!\n)\p{Cc}/u)
      expect(outcome.answer.length).toBeLessThanOrEqual(LIMITS.chatAnswerCharacters)
      const numbers = [...outcome.answer.matchAll(/\[(\d+)\]/g)].map((match) => Number(match[1]))
      expect(numbers.every((number) => number >= 1 && number <= outcome.sections.length)).toBe(true)
      expect(outcome.sections.every((section) => sections.includes(section))).toBe(true)
    }),
  )
})
