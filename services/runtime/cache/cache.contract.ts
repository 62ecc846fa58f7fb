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

/** What every cache promises, whatever it runs on. */
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

    describeValues(given, newKey)
    describeCounters(given, newKey)
    describeLocks(given, newKey)
    describeRefusals(given, newKey)

    it('refuses everything once closed, says so, and can be closed twice', async () => {
      const cache = await harness.open()
      expect(await cache.health()).toMatchObject({ ok: true })
      await cache.close()
      await cache.close()
      const refusal = { code: 'cache_unavailable' }
      await expect(cache.get('a')).rejects.toMatchObject(refusal)
      await expect(cache.increment('a', { ttlMs: 1 })).rejects.toMatchObject(refusal)
      expect(await cache.health()).toMatchObject({ ok: false })
    })
  })
}

function describeValues(given: () => CacheHarness, newKey: () => string): void {
  it('gives back what was set, also to others, until it is replaced or deleted', async () => {
    const { cache, peer } = given()
    const key = newKey()
    expect(await cache.get(key)).toBeUndefined()
    await cache.set(key, 'one ☂', LONG_MS)
    expect(await peer.get(key)).toBe('one ☂')
    await peer.set(key, '', LONG_MS)
    expect(await cache.get(key)).toBe('')
    await cache.delete(key)
    await cache.delete(key)
    expect(await peer.get(key)).toBeUndefined()
  })

  it('forgets a value after its time, which setting it again replaces', async () => {
    const { cache, pass } = given()
    const [short, renewed] = [newKey(), newKey()]
    await cache.set(short, 'a', SHORT_MS)
    await cache.set(renewed, 'a', SHORT_MS)
    await cache.set(renewed, 'b', LONG_MS)
    await pass(SHORT_MS + 1)
    expect(await cache.get(short)).toBeUndefined()
    expect(await cache.get(renewed)).toBe('b')
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
    expect((await peer.increment(key, { ttlMs: LONG_MS, by: 5 })).count).toBe(5)
    const later = await cache.increment(key, { ttlMs: 2 * LONG_MS, by: 2 })
    expect(later.count).toBe(7)
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

  it('keeps counters, values and locks of one key apart, and deletes value and counter', async () => {
    const { cache } = given()
    const key = newKey()
    await cache.set(key, 'text', LONG_MS)
    expect((await cache.increment(key, { ttlMs: LONG_MS, by: 3 })).count).toBe(3)
    expect(await cache.acquireLock(key, { ttlMs: LONG_MS, token: 'me' })).toBe(true)
    expect(await cache.get(key)).toBe('text')
    await cache.delete(key)
    expect(await cache.get(key)).toBeUndefined()
    expect((await cache.increment(key, { ttlMs: LONG_MS })).count).toBe(1)
    expect(await cache.acquireLock(key, { ttlMs: LONG_MS, token: 'other' })).toBe(false)
  })
}

function describeLocks(given: () => CacheHarness, newKey: () => string): void {
  it('gives a lock to one token only, which alone can release it', async () => {
    const { cache, peer } = given()
    const name = newKey()
    const lock = { ttlMs: LONG_MS }
    expect(await cache.acquireLock(name, { ...lock, token: 'mine' })).toBe(true)
    expect(await peer.acquireLock(name, { ...lock, token: 'yours' })).toBe(false)
    expect(await peer.releaseLock(name, 'yours')).toBe(false)
    expect(await peer.acquireLock(name, { ...lock, token: 'yours' })).toBe(false)
    expect(await cache.releaseLock(name, 'mine')).toBe(true)
    expect(await cache.releaseLock(name, 'mine')).toBe(false)
    expect(await peer.acquireLock(name, { ...lock, token: 'yours' })).toBe(true)
  })

  it('frees a lock after its time, which its holder can prolong', async () => {
    const { cache, peer, pass } = given()
    const [short, prolonged] = [newKey(), newKey()]
    for (const name of [short, prolonged]) await cache.acquireLock(name, { ttlMs: SHORT_MS, token: 'mine' })
    expect(await cache.acquireLock(prolonged, { ttlMs: LONG_MS, token: 'mine' })).toBe(true)
    await pass(SHORT_MS + 1)
    expect(await peer.acquireLock(short, { ttlMs: LONG_MS, token: 'yours' })).toBe(true)
    expect(await cache.releaseLock(short, 'mine')).toBe(false)
    expect(await peer.acquireLock(prolonged, { ttlMs: LONG_MS, token: 'yours' })).toBe(false)
  })

  it('gives a contended lock to exactly one', async () => {
    const { cache, peer } = given()
    const name = newKey()
    const tries = Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? cache : peer).acquireLock(name, { ttlMs: LONG_MS, token: `t${index}` }),
    )
    expect((await Promise.all(tries)).filter(Boolean)).toHaveLength(1)
  })
}

function describeRefusals(given: () => CacheHarness, newKey: () => string): void {
  it.each(['', 'a\nb', 'a\0b', '\uD800', 'x'.repeat(LIMITS.cacheKeyCharacters + 1)])(
    'refuses the key %j',
    async (key) => {
      const { cache } = given()
      const refusal = { code: 'internal_error' }
      await expect(cache.get(key)).rejects.toMatchObject(refusal)
      await expect(cache.set(key, '', 1)).rejects.toMatchObject(refusal)
      await expect(cache.delete(key)).rejects.toMatchObject(refusal)
      await expect(cache.increment(key, { ttlMs: 1 })).rejects.toMatchObject(refusal)
      await expect(cache.acquireLock(key, { ttlMs: 1, token: 'a' })).rejects.toMatchObject(refusal)
      await expect(cache.acquireLock('a', { ttlMs: 1, token: key })).rejects.toMatchObject(refusal)
      await expect(cache.releaseLock(key, 'a')).rejects.toMatchObject(refusal)
    },
  )

  it.each([0, -1, 1.5, Number.NaN, CACHE_TTL_MS + 1])('refuses the time to live %d', async (ttlMs) => {
    const { cache } = given()
    const refusal = { code: 'internal_error' }
    await expect(cache.set('a', '', ttlMs)).rejects.toMatchObject(refusal)
    await expect(cache.increment('a', { ttlMs })).rejects.toMatchObject(refusal)
    await expect(cache.acquireLock('a', { ttlMs, token: 'a' })).rejects.toMatchObject(refusal)
  })

  it('refuses increments that are none and values that are too large', async () => {
    const { cache } = given()
    const key = newKey()
    for (const by of [0, -1, 0.5, Number.POSITIVE_INFINITY]) {
      const refused = cache.increment(key, { ttlMs: LONG_MS, by })
      await expect(refused).rejects.toMatchObject({ code: 'internal_error' })
    }
    const tooLarge = cache.set(key, 'x'.repeat(LIMITS.cacheValueBytes + 1), LONG_MS)
    await expect(tooLarge).rejects.toMatchObject({ code: 'payload_too_large' })
    const largest = 'x'.repeat(LIMITS.cacheValueBytes)
    await cache.set(key, largest, LONG_MS)
    expect((await cache.get(key))?.length).toBe(LIMITS.cacheValueBytes)
  })
}
