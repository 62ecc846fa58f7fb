import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createServer } from '../composition/server.ts'
import { createRateLimits } from './rate-limits.ts'
import { describeRateLimits } from './testing/rate-limits.contract.ts'
import { serverOptions } from './testing/server-options.fixture.ts'

describeRateLimits('this process alone', async () => ({
  open: createRateLimits,
  pass: delay,
  close: async () => undefined,
}))

describe('an HTTP caller', () => {
  let app: FastifyInstance
  beforeEach(async () => {
    app = await createServer(
      serverOptions({ rateLimits: createRateLimits({ perAddress: 5, perKey: 3 }), trustProxy: { hops: 1 } }),
    )
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
    await delay(1_001)
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
