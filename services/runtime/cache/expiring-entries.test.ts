import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createExpiringEntries } from './expiring-entries.ts'

const roomy = { maxEntries: 1_000, maxBytes: 1_000_000 }

describe('expiring entries', () => {
  it('give up the least recently used first', () => {
    const entries = createExpiringEntries({ now: () => 0, maxEntries: 2, maxBytes: 1_000_000 })
    entries.set('a', '1', 10)
    entries.set('b', '2', 10)
    entries.get('a')
    entries.set('c', '3', 10)
    expect([entries.get('a')?.value, entries.get('b')?.value, entries.get('c')?.value]).toEqual([
      '1',
      undefined,
      '3',
    ])
  })

  it('stay within their bytes', () => {
    const entries = createExpiringEntries({ now: () => 0, maxEntries: 1_000, maxBytes: 2_000 })
    for (let index = 0; index < 100; index++) entries.set(`k${index}`, 'x'.repeat(100), 10)
    expect(entries.count()).toBeLessThan(10)
    expect(entries.get('k99')?.value).toHaveLength(100)
    entries.set('huge', 'x'.repeat(5_000), 10)
    expect(entries.count()).toBe(0)
  })

  it('are swept once expired, though nobody asks for them', () => {
    let nowMs = 0
    const entries = createExpiringEntries({ now: () => nowMs, ...roomy })
    for (let index = 0; index < 100; index++) entries.set(`old${index}`, '', 10)
    nowMs = 10
    for (let index = 0; index < 60; index++) entries.set('new', '', 1_000)
    expect(entries.count()).toBe(1)
  })

  it('behave like a plain map with times', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd')
    const step = fc.oneof(
      fc.record({ do: fc.constant('set' as const), key, ttl: fc.integer({ min: 1, max: 20 }) }),
      fc.record({ do: fc.constantFrom('get' as const, 'delete' as const), key }),
      fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 15 }) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let nowMs = 0
        const entries = createExpiringEntries({ now: () => nowMs, ...roomy })
        const model = new Map<string, { value: string; expiresAtMs: number }>()
        const answers: (string | undefined)[] = []
        const expected: (string | undefined)[] = []
        for (const [index, action] of steps.entries()) {
          if (action.do === 'pass') nowMs += action.ms
          else if (action.do === 'delete') {
            entries.delete(action.key)
            model.delete(action.key)
          } else if (action.do === 'set') {
            const expiresAtMs = nowMs + action.ttl
            entries.set(action.key, `${index}`, expiresAtMs)
            model.set(action.key, { value: `${index}`, expiresAtMs })
          } else {
            const known = model.get(action.key)
            answers.push(entries.get(action.key)?.value)
            expected.push(known !== undefined && known.expiresAtMs > nowMs ? known.value : undefined)
          }
        }
        expect(answers).toEqual(expected)
      }),
      { numRuns: 300 },
    )
  })
})
