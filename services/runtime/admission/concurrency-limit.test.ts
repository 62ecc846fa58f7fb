import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createConcurrencyLimit } from './concurrency-limit.ts'

test('owners take turns, however much one of them has', async () => {
  const limited = createConcurrencyLimit(2)
  const begun: string[] = []
  const ends: (() => void)[] = []
  const all = ['a', 'a', 'a', 'a', 'a', 'a', 'b', 'c', 'b'].map((owner) =>
    limited(owner, () => {
      begun.push(owner)
      return new Promise<void>((resolve) => ends.push(resolve))
    }),
  )
  while (ends.length > 0) {
    ends.shift()?.()
    await setImmediate()
  }
  await Promise.all(all)
  expect(begun.join('')).toBe('aaabcabaa')
})
