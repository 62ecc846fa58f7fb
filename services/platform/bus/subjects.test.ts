import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkPatterns, checkPublishedSubject, matchesPattern, patternsOverlap } from './subjects.ts'

const token = fc.constantFrom('a', 'b', 'trade_call', 'SIM-1')
const tail = fc.array(token, { minLength: 1, maxLength: 4 })
const subject = tail.map((tokens) => ['signal', ...tokens].join('.'))
const pattern = fc
  .tuple(fc.array(fc.oneof(token, fc.constant('*')), { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([tokens, open]) => ['signal', ...tokens, ...(open ? ['>'] : [])].join('.'))

/** The same rule, told as a regular expression. */
function toExpression(text: string): RegExp {
  const parts = text.split('.').map((part) => (part === '*' ? '[^.]+' : part === '>' ? '.+' : part))
  return new RegExp(`^${parts.join('\\.')}$`)
}

describe('subject patterns', () => {
  it('match like their regular expression', () => {
    fc.assert(
      fc.property(pattern, subject, (some, text) => {
        expect(matchesPattern(some, text)).toBe(toExpression(some).test(text))
      }),
      { numRuns: 500 },
    )
  })

  it('overlap when a subject matches both, whichever comes first', () => {
    fc.assert(
      fc.property(pattern, pattern, subject, (one, two, text) => {
        expect(patternsOverlap(one, two)).toBe(patternsOverlap(two, one))
        const both = matchesPattern(one, text) && matchesPattern(two, text)
        expect(both && !patternsOverlap(one, two)).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    ['signal.a.>', 'signal.a', false],
    ['signal.a.>', 'signal.a.b', true],
    ['signal.*.b', 'signal.a.*', true],
    ['signal.a.*', 'signal.b.*', false],
    ['signal.a', 'signal.a.b', false],
  ])('%s and %s overlap: %s', (one, two, overlap) => {
    expect(patternsOverlap(one, two)).toBe(overlap)
  })
})

describe('checking subjects', () => {
  it('takes what the service publishes', () => {
    fc.assert(
      fc.property(subject, (text) => {
        expect(() => checkPublishedSubject(text)).not.toThrow()
      }),
    )
    expect(() => checkPublishedSubject('signal.trade_call.SIM.BTC.1m')).not.toThrow()
  })

  it('names the bad token', () => {
    expect(() => checkPublishedSubject('signal.a.b c')).toThrow('the token "b c"')
    expect(() => checkPublishedSubject(`signal${'.a'.repeat(16)}`)).toThrow('more than 16 tokens')
  })

  it('takes patterns that share no subject and refuses those that do', () => {
    expect(() => checkPatterns(['signal.trade_call.>', 'signal.regime_shift.>'])).not.toThrow()
    expect(() => checkPatterns(['signal.a.*', 'signal.a.>'])).toThrow('overlap')
    expect(() => checkPatterns([])).toThrow('at least one')
    expect(() => checkPatterns(['>'])).toThrow('does not begin with signal.')
  })
})
