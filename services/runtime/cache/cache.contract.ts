import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { CACHE_TTL_MS, type Cache } from './cache.ts'

export interface CacheHarness {
  readonly cache: Cache
  /** The cache as another process sees it; the same one where it has no other processes. */
  readonly peer: Cache
  /** Lets time pass for the cache. */
  readonly pass: (ms: number) => Promise<void>
  /** A cache of its own, for tests that close it. */
  open(): Promise<Cache>
  close(): Promise<void>
}

/** Long against what a test takes, so that only `pass` ends it. */
const LONG_MS = 600_000
const SHORT_MS = 100

/** The promises of every cache, whatever it runs on. */
export function describeCacheContract(name: string, openHarness: () => Promise<CacheHarness>): void {
  describe(`cache contract: ${name}`, () => {
    let harness: CacheHarness
    let keys = 0

    beforeAll(async () => {
      harness = await openHarness()
    })

    afterAll(() => harness.close())

    const newKey = (): string => `key:${++keys}`
    const given = (): CacheHarness => harness

    describeCounters(given, newKey)
    describeRefusals(given)

    it('refuses everything once closed, says so, and can be closed twice', async () => {
      const cache = await harness.open()
      expect(await cache.health()).toMatchObject({ ok: true })
      await cache.close()
      await cache.close()
      const refusal = { code: 'dependency_unavailable' }
      await expect(cache.increment('a', { ttlMs: 1 })).rejects.toMatchObject(refusal)
      expect(await cache.health()).toMatchObject({ ok: false })
    })
  })
}

function describeCounters(given: () => CacheHarness, newKey: () => string): void {
  it('counts in one window, which later increments do not prolong', async () => {
    const { cache, peer, pass } = given()
    const key = newKey()
    const first = await cache.increment(key, { ttlMs: SHORT_MS })
    expect(first.count).toBe(1)
    expect(first.expiresInMs).toBeGreaterThan(0)
    expect(first.expiresInMs).toBeLessThanOrEqual(SHORT_MS)
    await pass(SHORT_MS + 1)
    expect((await peer.increment(key, { ttlMs: LONG_MS })).count).toBe(1)
    const later = await cache.increment(key, { ttlMs: 2 * LONG_MS })
    expect(later.count).toBe(2)
    expect(later.expiresInMs).toBeLessThanOrEqual(LONG_MS)
  })

  it('loses no increment of many at once', async () => {
    const { cache, peer } = given()
    const key = newKey()
    const counts = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const { count } = await (index % 2 === 0 ? cache : peer).increment(key, { ttlMs: LONG_MS })
        return count
      }),
    )
    expect(counts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1))
  })
}

function describeRefusals(given: () => CacheHarness): void {
  it.each(['', 'a\nb', 'a\0b', '\uD800', 'x'.repeat(LIMITS.cacheKeyCharacters + 1)])(
    'refuses the key %j',
    async (key) => {
      const { cache } = given()
      const refusal = { code: 'internal_error' }
      await expect(cache.increment(key, { ttlMs: 1 })).rejects.toMatchObject(refusal)
    },
  )

  it.each([0, -1, 1.5, Number.NaN, CACHE_TTL_MS + 1])('refuses the time to live %d', async (ttlMs) => {
    const { cache } = given()
    const refusal = { code: 'internal_error' }
    await expect(cache.increment('a', { ttlMs })).rejects.toMatchObject(refusal)
  })
}
