import { expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { createMemoryCache } from '../runtime/cache/memory-cache.ts'
import { createFactIds } from '../runtime/ids/fact-id.ts'
import { createAttemptLimiter } from './attempt-limiter.ts'
import { codeOf } from './testing/accounts.fixture.ts'

const idOf = createFactIds(Buffer.alloc(32, 5))
const options = {
  idOf,
  name: 'sign-in',
  whose: 'from your address',
  limit: 3,
  windowMs: 60_000,
  onProblem: () => undefined,
}

test('takes so many tries of a subject in a window, and says when the next is taken', async () => {
  let now = 0
  const limiter = createAttemptLimiter({ ...options, cache: createMemoryCache({ now: () => now }) })
  for (let n = 0; n < 3; n++) await limiter.take('198.51.100.1')
  now = 59_000
  await expect(limiter.take('198.51.100.1')).rejects.toMatchObject({
    code: 'rate_limited',
    details: { limit: 3, retry_after_s: 1 },
  })
  expect(await codeOf(limiter.take('198.51.100.2'))).toBe('none')
  now = 60_000
  expect(await codeOf(limiter.take('198.51.100.1'))).toBe('none')
})

test('counts apart what is tried apart, and keeps no address', async () => {
  const keys: string[] = []
  const cache = {
    increment: async (key: string) => ({ count: keys.push(key), expiresInMs: 1 }),
  }
  for (const name of ['sign-in', 'confirm']) {
    await createAttemptLimiter({ ...options, name, cache }).take('198.51.100.1')
  }
  expect(new Set(keys).size).toBe(2)
  expect(keys.join(' ')).not.toContain('198.51')
})

test('refuses nobody while the cache is away, and says so', async () => {
  const problems: string[] = []
  const limiter = createAttemptLimiter({
    ...options,
    cache: { increment: () => Promise.reject(new ServiceError('dependency_unavailable')) },
    onProblem: (error) => void problems.push(error.code),
  })
  for (let n = 0; n < 5; n++) await limiter.take('198.51.100.1')
  expect(problems).toHaveLength(5)
})
