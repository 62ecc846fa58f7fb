import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { redisServers } from '../../testing/servers/redis-servers.ts'
import { openRedisCache } from '../runtime/cache/redis-cache.ts'
import { createRateLimits } from './rate-limits.ts'
import { describeRateLimits } from './testing/rate-limits.contract.ts'

const shared = await redisServers({ killable: false })
const killable = await redisServers({ killable: true })
const quiet = { random: () => 0, report: () => undefined }

describe.skipIf(shared.missing !== undefined)(`over Redis${shared.missing ?? ''}`, () => {
  describeRateLimits('Redis', async () => {
    const server = await shared.start()
    const logId = `test-${process.pid}-${Date.now()}`
    const cache = await openRedisCache({ url: server.url, logId, ...quiet })
    return {
      open: (limits) => createRateLimits({ ...limits, redis: cache.redis }),
      pass: delay,
      async close() {
        await cache.close()
        await server.stop()
      },
    }
  })
})

describe.skipIf(killable.missing !== undefined)(`Redis that goes away${killable.missing ?? ''}`, () => {
  test('refuses nobody, and this process goes on counting', async () => {
    const server = await killable.start()
    const cache = await openRedisCache({ url: server.url, logId: 'outages', ...quiet })
    try {
      const limits = createRateLimits({ perAddress: 2, perKey: undefined, redis: cache.redis })
      const address = '192.0.2.1'
      expect((await limits.take({ address })).isAdmitted).toBe(true)
      await server.kill()
      // At once: one after the other, the last could be in the next second on a busy machine.
      const after = await Promise.all([1, 2, 3].map(() => limits.take({ address })))
      expect(after.map(({ isAdmitted }) => isAdmitted)).toEqual([true, true, false])
      expect(await cache.health()).toMatchObject({ ok: false, adapter: 'redis' })
    } finally {
      await cache.close()
      await server.stop()
    }
  })
})
