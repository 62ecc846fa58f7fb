import { stat } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { createServer } from '../composition/server.ts'
import type { Cache } from '../runtime/cache/cache.ts'
import { createMemoryCache } from '../runtime/cache/memory-cache.ts'
import { createRateLimits, type RateLimits, type RateLimitsOptions, rateHeaders } from './rate-limits.ts'
import { describeRateLimits } from './testing/rate-limits.contract.ts'
import { serverOptions } from './testing/server-options.fixture.ts'

let now: number
beforeEach(() => {
  now = 1_700_000_000_000
})

const clock = (): number => now
const limitsOf = (change: Partial<RateLimitsOptions> = {}): RateLimits =>
  createRateLimits({ perAddress: 5, perKey: 3, shared: undefined, now: clock, ...change })

describeRateLimits('this process alone', async () => ({
  open: (limits) => createRateLimits({ ...limits, shared: undefined, now: clock }),
  pass: async (ms) => void (now += ms),
  close: async () => undefined,
}))

describeRateLimits('a memory cache', async () => {
  const cache = createMemoryCache({ now: clock })
  return {
    open: (limits) => createRateLimits({ ...limits, shared: cache, now: clock }),
    pass: async (ms) => void (now += ms),
    close: () => cache.close(),
  }
})

describe('a shared count', () => {
  const address = '192.0.2.1'

  test('is one for all processes', async () => {
    const shared = createMemoryCache({ now: clock })
    const processes = [limitsOf({ shared }), limitsOf({ shared })]
    const decisions = []
    for (let n = 0; n < 8; n++) decisions.push(await processes[n % 2]?.take({ address }))
    expect(decisions.map((decision) => decision?.isAdmitted)).toEqual([
      ...Array<boolean>(5).fill(true),
      ...Array<boolean>(3).fill(false),
    ])
  })

  test('is not asked about a caller who is past the limit here', async () => {
    let asked = 0
    const cache = createMemoryCache({ now: clock })
    const shared: Cache = { ...cache, increment: (...given) => ((asked += 1), cache.increment(...given)) }
    const limits = limitsOf({ shared })
    for (let n = 0; n < 1_000; n++) await limits.take({ address })
    expect(asked).toBe(5)
  })

  test('that is away is left aside for a second, told once, and the process counts alone', async () => {
    const faults: ServiceError[] = []
    let asked = 0
    const cache = createMemoryCache({ now: clock })
    let isAway = true
    const increment: Cache['increment'] = async (...given) => {
      asked += 1
      if (isAway) throw new ServiceError('cache_unavailable')
      return cache.increment(...given)
    }
    const limits = limitsOf({ shared: { ...cache, increment }, report: (fault) => void faults.push(fault) })
    const admitted: boolean[] = []
    for (let n = 0; n < 7; n++) admitted.push((await limits.take({ address })).isAdmitted)
    expect(admitted.filter(Boolean)).toHaveLength(5)
    expect([asked, faults.length]).toEqual([1, 1])
    expect(faults[0]?.code).toBe('cache_unavailable')
    now += LIMITS.rateAloneMs
    await limits.take({ address })
    expect([asked, faults.length]).toEqual([2, 1])
    isAway = false
    now += LIMITS.rateAloneMs
    await limits.take({ address })
    isAway = true
    await limits.take({ address })
    expect([asked, faults.length]).toEqual([4, 2])
  })

  test('that does not answer holds nobody up', async () => {
    const shared: Cache = {
      ...createMemoryCache({ now: clock }),
      increment: () => new Promise(() => undefined),
    }
    const limits = limitsOf({ shared, perKey: undefined })
    // Would wait for ever, were it not left aside.
    for (let n = 0; n < 5; n++) expect((await limits.take({ address })).isAdmitted).toBe(true)
    expect((await limits.take({ address })).isAdmitted).toBe(false)
  })

  test('whose answer lies unread while this process is busy is in time', async () => {
    const faults: ServiceError[] = []
    const cache = createMemoryCache({ now: clock })
    // Like an answer on a socket: it comes from outside, and is seen when the event loop polls, after its timers.
    const increment: Cache['increment'] = async (...given) => {
      await stat(import.meta.filename)
      return cache.increment(...given)
    }
    const limits = limitsOf({
      perKey: undefined,
      shared: { ...cache, increment },
      report: (fault) => void faults.push(fault),
    })
    const taking = limits.take({ address })
    // Long enough for the answer to come, however busy the machine is.
    const busyUntil = performance.now() + 60 * LIMITS.rateWaitMs
    while (performance.now() < busyUntil);
    expect((await taking).isAdmitted).toBe(true)
    expect(faults).toEqual([])
  })

  test('keeps no key in clear', async () => {
    const keys: string[] = []
    const cache = createMemoryCache({ now: clock })
    const increment: Cache['increment'] = (key, ...given) => (keys.push(key), cache.increment(key, ...given))
    await limitsOf({ shared: { ...cache, increment } }).take({ address, key: 'sk_live_secret' })
    expect(keys).toHaveLength(2)
    expect(keys.join()).not.toContain('sk_live_secret')
  })
})

describe('header fields', () => {
  test('are lists of structured items, one for each limit', () => {
    const states = [
      { policy: 'address', limit: 100, remaining: 99, resetsInMs: 1_000 },
      { policy: 'key', limit: 50, remaining: 0, resetsInMs: 400 },
    ] as const
    expect(rateHeaders({ isAdmitted: true, states })).toEqual({
      'ratelimit-policy': '"address";q=100;w=1, "key";q=50;w=1',
      ratelimit: '"address";r=99;t=1, "key";r=0;t=1',
    })
    expect(rateHeaders({ isAdmitted: true, states: [] })).toEqual({})
  })
})

describe('an HTTP caller', () => {
  let app: FastifyInstance
  beforeEach(async () => {
    app = await createServer(serverOptions({ rateLimits: limitsOf(), trustProxy: { hops: 1 } }))
  })
  afterEach(() => app.close())

  const get = (url: string, headers: Record<string, string> = {}) =>
    app.inject({ method: 'GET', url, headers })
  const statuses = async (
    count: number,
    url: string,
    headers?: Record<string, string>,
  ): Promise<number[]> => {
    const all: number[] = []
    for (let n = 0; n < count; n++) all.push((await get(url, headers)).statusCode)
    return all
  }

  test('is told where it stands, and past the limit when to come back', async () => {
    const first = await get('/')
    expect(first.headers).toMatchObject({
      'ratelimit-policy': '"address";q=5;w=1',
      ratelimit: '"address";r=4;t=1',
    })
    expect(await statuses(4, '/')).toEqual([200, 200, 200, 200])
    const refused = await get('/')
    expect(refused.statusCode).toBe(429)
    expect(refused.headers).toMatchObject({ 'retry-after': '1', ratelimit: '"address";r=0;t=1' })
    expect(refused.json()).toMatchObject({ code: 'rate_limited', details: { per: 'address', limit: 5 } })
    now += 1_000
    expect((await get('/')).statusCode).toBe(200)
  })

  test('is counted for paths that do not exist too', async () => {
    expect(await statuses(6, '/nowhere')).toEqual([404, 404, 404, 404, 404, 429])
  })

  test('is counted by key, whatever the case of its scheme, beside the address', async () => {
    const headers = { authorization: 'bearer sk_live_one' }
    expect(await statuses(5, '/', headers)).toEqual([200, 200, 200, 429, 429])
    expect((await get('/', { authorization: 'Bearer sk_live_one' })).json()).toMatchObject({
      details: { per: 'address' },
    })
  })

  test('with the same key from another address is the same caller', async () => {
    const from = (n: number) => ({ authorization: 'Bearer sk_live_one', 'x-forwarded-for': `192.0.2.${n}` })
    const all = []
    for (let n = 0; n < 4; n++) all.push((await get('/', from(n))).statusCode)
    expect(all).toEqual([200, 200, 200, 429])
  })

  test('that asks whether the process is there is always answered', async () => {
    expect(new Set(await statuses(20, '/livez'))).toEqual(new Set([200]))
    expect(new Set(await statuses(20, '/readyz'))).toEqual(new Set([200]))
    expect((await get('/livez')).headers.ratelimit).toBeUndefined()
  })

  test('is not limited at all where no limits are given', async () => {
    await app.close()
    app = await createServer(serverOptions())
    expect(new Set(await statuses(200, '/'))).toEqual(new Set([200]))
  })
})
