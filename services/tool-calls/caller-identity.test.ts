import { expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { requireKey, requireVerified } from './caller-identity.ts'

const refusedWith = (cause: unknown) => () =>
  requireVerified({ outcome: 'INDETERMINATE', reason: 'something', cause })

test('a caller whose key cannot be checked is told of a full disk, and of nothing else inside', () => {
  const code = (name: string) => expect.objectContaining({ code: name })
  expect(refusedWith(new ServiceError('store_full'))).toThrow(code('store_full'))
  expect(refusedWith(new ServiceError('store_unavailable'))).toThrow(code('key_unverifiable'))
  expect(refusedWith(undefined)).toThrow(code('key_unverifiable'))
})

test('who needs a key is told how to get one, and how to send the one that was not recognised', () => {
  const step = (text: string) =>
    expect.objectContaining({ nextStep: expect.stringContaining(text) as string })
  expect(() => requireKey({ outcome: 'ABSENT' })).toThrow(step('POST /api/sign-in'))
  expect(() => requireKey({ outcome: 'ABSENT' })).toThrow(step('signal keys create'))
  expect(() => requireKey({ outcome: 'MALFORMED' })).toThrow(/after the word `Bearer`/)
})
