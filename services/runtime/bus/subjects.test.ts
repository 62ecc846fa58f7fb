import { describe, expect, it } from 'vitest'
import { checkSubject } from './subjects.ts'

describe('a subject', () => {
  it.each(['signals', 'engine.tool', 'webhooks.refresh.15', 'a.b-c.D_1'])('may be %s', (subject) => {
    expect(() => checkSubject(subject)).not.toThrow()
  })

  it.each(['', 'a.', '.a', 'a..b', 'a b', 'a.*', 'a.>', 'ü'])('is not %j', (subject) => {
    expect(() => checkSubject(subject)).toThrow('the token')
  })

  it('is refused by name where a token is bad, and by length', () => {
    expect(() => checkSubject('signal.a.b c')).toThrow('the token "b c" of the subject "signal.a.b c"')
    expect(() => checkSubject(`signal${'.a'.repeat(16)}`)).toThrow('more than 16 tokens')
  })
})
