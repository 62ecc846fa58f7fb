import { expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors.ts'
import { requireVerified } from './caller-identity.ts'

const refusedWith = (cause: unknown) => () =>
  requireVerified({ outcome: 'INDETERMINATE', reason: 'something', cause })

test('a caller whose key cannot be checked is told of a full disk, and of nothing else inside', () => {
  const code = (name: string) => expect.objectContaining({ code: name })
  expect(refusedWith(new ServiceError('store_full'))).toThrow(code('store_full'))
  expect(refusedWith(new ServiceError('store_unavailable'))).toThrow(code('key_unverifiable'))
  expect(refusedWith(undefined)).toThrow(code('key_unverifiable'))
})
