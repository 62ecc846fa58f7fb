import { expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createMemoryCache } from '../../runtime/cache/memory-cache.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import { codeOf } from '../testing/accounts.fixture.ts'
import { createSiteAllowance } from './site-allowance.ts'

const NOON = Date.UTC(2026, 10, 21, 12)
const idOf = createFactIds(Buffer.alloc(32, 3))

test('the networks of a site have so many calls together in a day; others have theirs', async () => {
  let now = NOON
  const admit = createSiteAllowance({
    cache: createMemoryCache({ now: () => now }),
    idOf,
    siteOf: (address) => (address.startsWith('2001') ? address.slice(0, 10) : undefined),
    now: () => now,
  })
  for (let n = 0; n < LIMITS.anonymousCallsPerSite; n++) await admit(`2001:db8:1:${n}`)
  expect(await codeOf(admit('2001:db8:1:ffff'))).toBe('quota_exhausted')
  expect(await codeOf(admit('2001:db8:2:1'))).toBe('none')
  for (let n = 0; n < LIMITS.anonymousCallsPerSite + 1; n++) await admit('192.0.2.1')
  now = Date.UTC(2026, 10, 22)
  expect(await codeOf(admit('2001:db8:1:ffff'))).toBe('none')
})

test('nobody is refused for a cache that is away', async () => {
  const cache = { increment: () => Promise.reject(new ServiceError('dependency_unavailable')) }
  const admit = createSiteAllowance({ cache, idOf, siteOf: () => 'site', now: () => NOON })
  expect(await codeOf(admit('2001:db8:1:1'))).toBe('none')
})
