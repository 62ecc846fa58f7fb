import { expect, test } from 'vitest'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createMemoryCache } from '../../runtime/cache/memory-cache.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import { createOutboundLimits } from './outbound-limits.ts'

const idOf = createFactIds(Buffer.alloc(32, 7))
const VICTIM = 'https://victim.example.com/a'

function limits(hasHostLimit = true) {
  const clock = { now: 0 }
  const take = createOutboundLimits(
    { cache: createMemoryCache({ now: () => clock.now }), idOf },
    hasHostLimit,
  )
  /** How many of so many are taken. */
  const taken = async (count: number, ...[what, account, url]: Parameters<typeof take>) => {
    let all = 0
    for (let n = 0; n < count; n++) {
      try {
        await take(what, account, url)
        all += 1
      } catch (error) {
        if (!isServiceError(error, 'rate_limited')) throw error
      }
    }
    return all
  }
  return { clock, taken, take }
}

test('an account sends so many tests in a minute, whatever it creates and deletes in between', async () => {
  const { clock, taken } = limits()
  let sent = 0
  for (let round = 0; round < 10; round++) {
    await taken(1, 'creation', 'ada', `https://host${round}.example.com/`)
    sent += await taken(10, 'test', 'ada', `https://host${round}.example.com/`)
  }
  expect(sent).toBe(LIMITS.webhookTestsPerMinute)
  expect(await taken(1, 'test', 'bob', VICTIM)).toBe(1)
  clock.now = 60_000
  expect(await taken(20, 'test', 'ada', VICTIM)).toBe(LIMITS.webhookTestsPerMinute)
})

test('an account creates so many subscriptions in an hour', async () => {
  const { clock, taken } = limits(false)
  expect(await taken(150, 'creation', 'ada', VICTIM)).toBe(LIMITS.webhookCreationsPerHour)
  clock.now = 3_600_000
  expect(await taken(1, 'creation', 'ada', VICTIM)).toBe(1)
})

test('an account sends so many tests in a day', async () => {
  const { clock, taken } = limits()
  let sent = 0
  for (; clock.now < 1_200_000; clock.now += 60_000) sent += await taken(10, 'test', 'ada', VICTIM)
  expect(sent).toBe(LIMITS.webhookTestsPerDay)
})

test('a host gets one of each account, and so many of all together, by whatever port and path; others go on', async () => {
  const { taken } = limits()
  let sent = 0
  for (let account = 0; account < 20; account++) {
    sent += await taken(2, 'creation', `account ${account}`, VICTIM)
    sent += await taken(10, 'test', `account ${account}`, `https://VICTIM.example.com:8443/${account}`)
  }
  expect(sent).toBe(20 + LIMITS.webhookUnaskedPerHost)
  expect(await taken(2, 'creation', 'a new one', VICTIM)).toBe(1)
  expect(await taken(2, 'test', 'another new one', VICTIM)).toBe(1)
  expect(await taken(1, 'test', 'somebody else', 'https://bot.example.org/')).toBe(1)
})

test('while nothing can be counted, none is taken', async () => {
  const away = { increment: () => Promise.reject(new ServiceError('dependency_unavailable')) }
  const take = createOutboundLimits({ cache: away, idOf }, true)
  await expect(take('test', 'ada', VICTIM)).rejects.toMatchObject({ code: 'dependency_unavailable' })
})
