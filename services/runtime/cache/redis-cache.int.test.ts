import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import { redisServers } from '../../../testing/servers/redis-servers.ts'
import type { TestServer } from '../../../testing/servers/test-server.ts'
import { describeCacheContract } from './cache.contract.ts'
import type { Cache } from './cache.ts'
import { openRedisCache } from './redis-cache.ts'

const shared = await redisServers({ killable: false })
const killable = await redisServers({ killable: true })

/** How far the server's idea of time may be behind ours. */
const SERVER_CLOCK_MS = 50

const random = (): number => 0
const ignore = (): void => undefined

describe.skipIf(shared.missing !== undefined)(`Redis cache${shared.missing ?? ''}`, () => {
  describeCacheContract('Redis', async () => {
    const server = await shared.start()
    const logId = `test-${process.pid}-${Date.now()}`
    const open = () => openRedisCache({ url: server.url, logId, random, report: ignore })
    const cache = await open()
    const peer = await open()
    const close = async (): Promise<void> => {
      await Promise.all([cache.close(), peer.close()])
      await server.stop()
    }
    // The server's clock is another one, and is looked at only now and then while it is busy.
    const pass = (milliseconds: number) => delay(milliseconds + SERVER_CLOCK_MS)
    return { cache, peer, pass, open, close }
  })
})

describe.skipIf(killable.missing !== undefined)(`Redis cache and outages${killable.missing ?? ''}`, () => {
  let server: TestServer
  let cache: Cache
  let faults: ServiceError[]

  beforeEach(async () => {
    server = await killable.start()
    faults = []
    const report = (fault: ServiceError): void => void faults.push(fault)
    cache = await openRedisCache({ url: server.url, logId: 'outages', random, report })
  })

  afterEach(async () => {
    await cache.close()
    await server.stop()
  })

  it('refuses while the server is away, says so once, and works again when it is back', async () => {
    await cache.increment('a', { ttlMs: 600_000 })
    await server.kill()
    const refusal = { code: 'dependency_unavailable' }
    for (let round = 0; round < 3; round++) {
      await expect(cache.increment('a', { ttlMs: 1_000 })).rejects.toMatchObject(refusal)
    }
    expect(await cache.health()).toMatchObject({ ok: false, adapter: 'redis' })

    await server.restart()
    await vi.waitUntil(async () => (await cache.health()).ok, { timeout: 15_000, interval: 20 })
    expect((await cache.health()).version).toMatch(/^\d+\.\d+/)
    expect(await cache.increment('a', { ttlMs: 600_000 })).toMatchObject({ count: 1 })
    expect(faults.map(({ code, message }) => [code, message.includes('reconnecting')])).toEqual([
      ['dependency_unavailable', true],
    ])
  })

  it.each([
    [
      'a replica',
      ['REPLICAOF', '127.0.0.1', '1'],
      ['REPLICAOF', 'NO', 'ONE'],
      /READONLY|not connected|writeable/,
    ],
    ['without room', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0'], /OOM/],
  ] as const)(
    'is not well while the server is %s, says so once, and works again',
    async (_, spoil, mend, words) => {
      const operator = new Redis(server.url)
      await cache.increment('a', { ttlMs: 600_000 })
      await operator.call(spoil[0], ...spoil.slice(1))
      await expect(cache.increment('a', { ttlMs: 1_000 })).rejects.toMatchObject({
        code: 'dependency_unavailable',
      })
      for (let round = 0; round < 3; round++) {
        expect(await cache.health()).toMatchObject({ ok: false, detail: expect.stringMatching(words) })
        await delay(100)
      }
      await operator.call(mend[0], ...mend.slice(1))
      await vi.waitUntil(async () => (await cache.health()).ok, { timeout: 15_000, interval: 20 })
      expect(await cache.increment('a', { ttlMs: 600_000 })).toMatchObject({ count: 2 })
      expect(faults.length).toBeLessThanOrEqual(1)
      operator.disconnect()
    },
  )

  it('settles every operation under way when the server is killed', async () => {
    let counted = 0
    const countUntilRefused = async (): Promise<unknown> => {
      for (;;) {
        try {
          await cache.increment('load', { ttlMs: 600_000 })
          counted++
        } catch (error) {
          return error
        }
      }
    }
    const load = Promise.all(Array.from({ length: 16 }, countUntilRefused))
    await vi.waitUntil(() => counted > 500, { timeout: 20_000, interval: 1 })
    await server.kill()
    for (const error of await load) expect(error).toMatchObject({ code: 'dependency_unavailable' })
  })

  it('counts nothing twice when its connection is cut', async () => {
    let asked = 0
    let counted = 0
    const refusals: unknown[] = []
    const operator = new Redis(server.url)
    const count = async (): Promise<void> => {
      for (let round = 0; round < 100; round++) {
        asked++
        try {
          await cache.increment('load', { ttlMs: 600_000 })
          counted++
        } catch (error) {
          refusals.push(error)
          await vi.waitUntil(async () => (await cache.health()).ok, { timeout: 15_000, interval: 5 })
        }
      }
    }
    const load = Promise.all(Array.from({ length: 16 }, count))
    for (const share of [200, 600, 1_000]) {
      await vi.waitUntil(() => counted > share, { timeout: 20_000, interval: 1 })
      await operator.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    }
    await load
    operator.disconnect()
    expect(refusals.every((error) => isServiceError(error, 'dependency_unavailable'))).toBe(true)
    const { count: total } = await cache.increment('load', { ttlMs: 600_000 })
    expect(total - 1).toBeGreaterThanOrEqual(counted)
    expect(total - 1).toBeLessThanOrEqual(asked)
  })

  it('does not open without a server, and tells where it looked, without the credentials', async () => {
    await server.kill()
    const { host } = new URL(server.url)
    const options = { logId: 'outages', random, report: ignore }
    const failure = await openRedisCache({ ...options, url: `redis://user:s3cret@${host}` }).catch(
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(ServiceError)
    expect(failure).toMatchObject({ code: 'dependency_unavailable' })
    expect(String(failure)).toContain(host)
    expect(String(failure)).not.toContain('s3cret')
    await expect(openRedisCache({ ...options, url: 'localhost' })).rejects.toMatchObject({
      code: 'config_invalid',
    })
  })

  it('closes while the server is away', async () => {
    await server.kill()
    await cache.close()
    await expect(cache.increment('a', { ttlMs: 1 })).rejects.toThrow('closed')
  })
})
