import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toSignals } from './signal-facts.ts'
import { createSlotSet, eachBit, SignalIndex } from './signal-index.ts'
import { aFilter, aSignalLog } from './testing/signal-log.fixture.ts'

test('a set of slots holds what was added and not taken out again, however large', () => {
  const slots = fc.nat(300)
  const changes = fc.array(fc.tuple(fc.boolean(), slots))
  fc.assert(
    fc.property(changes, slots, (all, asked) => {
      const set = createSlotSet()
      const expected = new Set<number>()
      for (const [isAdded, slot] of all) {
        if (isAdded) set.add(slot)
        else set.delete(slot)
        if (isAdded) expected.add(slot)
        else expected.delete(slot)
      }
      const found: number[] = []
      for (const [index, word] of set.words.entries()) eachBit(word, index, (slot) => found.push(slot))
      expect(found).toEqual([...expected].toSorted((a, b) => a - b))
      expect(set.has(asked)).toBe(expected.has(asked))
    }),
  )
})

describe('an index of filters', () => {
  test('finds each of many once, also those that name a coin twice over', async () => {
    const index = new SignalIndex()
    const names = Array.from({ length: 100 }, (_, slot) => slot)
    for (const slot of names) index.put(slot, aFilter({ assets: slot % 2 === 0 ? ['BTC', 'top:5'] : null }))
    const [signal] = toSignals(await aSignalLog().verdict({ call: 'BUY' }))
    if (signal === undefined) throw new Error('a BUY is a signal')
    expect(index.matching(signal, 3).toSorted((a, b) => a - b)).toEqual(names)
    expect(index.matching(signal, undefined)).toHaveLength(100)
    expect(index.matching(signal, 500)).toHaveLength(100)
  })

  test('knows whether anybody asks for the place of a coin, or for changes', () => {
    const index = new SignalIndex()
    index.put(0, aFilter({ assets: ['top:3', 'top:40'] }))
    index.put(1, aFilter({ onlyChanges: true }))
    expect([index.asksForRank, index.asksForChanges]).toEqual([true, true])
    index.put(0, aFilter())
    index.remove(1)
    index.remove(1)
    expect([index.asksForRank, index.asksForChanges]).toEqual([false, false])
    expect(index.filter(1)).toBeUndefined()
  })
})
