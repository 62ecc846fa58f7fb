import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RateLimits } from '../rate-limits.ts'

export interface RateLimitsHarness {
  open(limits: { perAddress: number | undefined; perKey: number | undefined }): RateLimits
  /** Lets time pass. */
  pass(ms: number): Promise<void>
  close(): Promise<void>
}

/** The promises of rate limits, wherever they count. */
export function describeRateLimits(name: string, openHarness: () => Promise<RateLimitsHarness>): void {
  describe(`rate limits counted in ${name}`, () => {
    let harness: RateLimitsHarness
    let subjects = 0
    const newAddress = (): string => `198.51.100.${++subjects}`
    beforeAll(async () => {
      harness = await openHarness()
    })
    afterAll(() => harness.close())

    test('admit so many of an address in a window, and again in the next', async () => {
      const limits = harness.open({ perAddress: 3, perKey: undefined })
      const [address, other] = [newAddress(), newAddress()]
      const all = []
      for (let n = 0; n < 5; n++) all.push(await limits.take({ address }))
      expect(all.map(({ isAdmitted }) => isAdmitted)).toEqual([true, true, true, false, false])
      expect(all.map(({ states }) => states[0]?.remaining)).toEqual([2, 1, 0, 0, 0])
      for (const { states } of all) expect([0, 1]).toContain(states[0]?.seconds)
      expect((await limits.take({ address: other })).isAdmitted).toBe(true)
      await harness.pass(1_001)
      expect((await limits.take({ address })).isAdmitted).toBe(true)
    })

    test('admit no more than the limit of many at once', async () => {
      const limits = harness.open({ perAddress: 10, perKey: undefined })
      const address = newAddress()
      const begun = performance.now()
      const all = await Promise.all(Array.from({ length: 100 }, () => limits.take({ address })))
      // On a busy machine the next window may begin meanwhile.
      const windows = 1 + Math.round((performance.now() - begun) / 800)
      const admitted = all.filter(({ isAdmitted }) => isAdmitted).length
      expect(admitted).toBeGreaterThanOrEqual(10)
      expect(admitted).toBeLessThanOrEqual(10 * windows)
    })

    test('count an IPv6 caller by its network', async () => {
      const limits = harness.open({ perAddress: 1, perKey: undefined })
      const network = `2001:db8:1:${++subjects}`
      expect((await limits.take({ address: `${network}:0:0:0:1` })).isAdmitted).toBe(true)
      expect((await limits.take({ address: `${network}:0:0:0:2` })).isAdmitted).toBe(false)
    })

    test('count a key wherever it comes from; past the limit of an address its key loses nothing', async () => {
      const limits = harness.open({ perAddress: 2, perKey: 3 })
      const [noisy, calm] = [newAddress(), newAddress()]
      const key = `sk_live_${++subjects}`
      for (let n = 0; n < 9; n++) await limits.take({ address: noisy, key })
      const last = await limits.take({ address: calm, key })
      expect(last.isAdmitted).toBe(true)
      expect(last.states.map(({ policy, remaining }) => [policy, remaining])).toEqual([
        ['address', 1],
        ['key', 0],
      ])
      const refused = await limits.take({ address: newAddress(), key })
      expect(refused).toMatchObject({ isAdmitted: false, states: [{}, { policy: 'key', limit: 3 }] })
    })

    test('limit nothing where they are off', async () => {
      const limits = harness.open({ perAddress: undefined, perKey: undefined })
      const address = newAddress()
      for (let n = 0; n < 50; n++) {
        expect(await limits.take({ address, key: 'sk_live_x' })).toEqual({ isAdmitted: true, states: [] })
      }
    })
  })
}
