import { describe, expect, it } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { Json } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { answerRequests, checkSubject, readReply } from './bus-messages.ts'

const report = (): void => undefined

describe('answering requests', () => {
  it('refuses what is past its bound, and answers again when there is room', async () => {
    const { promise, resolve } = Promise.withResolvers<Json>()
    const answer = answerRequests('busy', () => promise, report)
    const first = Array.from({ length: LIMITS.busInFlight }, () => answer('1'))
    const refused = await answer('2')
    expect(() => readReply('busy', refused)).toThrow(`answering ${LIMITS.busInFlight} requests already`)
    resolve('done')
    for (const reply of await Promise.all(first)) expect(readReply('busy', reply)).toBe('done')
    expect(readReply('busy', await answer('3'))).toBe('done')
  })

  it('answers a request that is not JSON with an error', async () => {
    const reply = await answerRequests('strict', async () => 1, report)('not JSON')
    expect(() => readReply('strict', reply)).toThrow('answering a request to strict failed')
  })

  it.each([
    '',
    'x',
    '{}',
    '{"error":{"code":"no_such_code","message":"m"}}',
    '{"error":{"code":"not_found"}}',
  ])('does not take %j for a reply', (text) => {
    expect(() => readReply('odd', text)).toThrow(ServiceError)
    expect(() => readReply('odd', text)).toThrow('the reply from odd cannot be read')
  })
})

describe('a subject', () => {
  it.each(['signals', 'engine.tool', 'webhooks.refresh.15', 'a.b-c.D_1'])('may be %s', (subject) => {
    expect(() => checkSubject(subject)).not.toThrow()
  })

  it.each(['', 'a.', '.a', 'a..b', 'a b', 'a.*', 'a.>', 'ü', `a${'.a'.repeat(16)}`])(
    'is not %j',
    (subject) => {
      expect(() => checkSubject(subject)).toThrow('is not 1 to 16 tokens')
    },
  )
})
