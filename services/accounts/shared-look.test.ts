import { expect, test } from 'vitest'
import { createSharedLook } from './shared-look.ts'

test('each call sees what was there behind it, and those that come meanwhile share one look', async () => {
  let value = 0
  const looks: PromiseWithResolvers<void>[] = []
  const pauses: PromiseWithResolvers<void>[] = []
  const shared = createSharedLook(
    async () => {
      const seen = value
      const look = Promise.withResolvers<void>()
      looks.push(look)
      await look.promise
      return seen
    },
    () => {
      const rest = Promise.withResolvers<void>()
      pauses.push(rest)
      return rest.promise
    },
  )
  const first = shared.look()
  value = 1
  const behind = [shared.look(), shared.look(), shared.look()]
  expect(shared.waiting).toBe(4)
  looks[0]?.resolve()
  expect(await first).toBe(0)
  const inPause = shared.look()
  expect(looks).toHaveLength(1)
  pauses[0]?.resolve()
  await expect.poll(() => looks.length).toBe(2)
  looks[1]?.resolve()
  expect(await Promise.all([...behind, inPause])).toEqual([1, 1, 1, 1])
  expect(shared.waiting).toBe(0)
})

test('a look that fails fails for those who wait for it, and the next one is made', async () => {
  let isAway = true
  const shared = createSharedLook(
    async () => {
      if (isAway) throw new Error('away')
      return 'there'
    },
    async () => undefined,
  )
  const both = [shared.look(), shared.look()]
  await expect(both[0]).rejects.toThrow('away')
  await expect(both[1]).rejects.toThrow('away')
  isAway = false
  expect(await shared.look()).toBe('there')
})
