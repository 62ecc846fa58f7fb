import { expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import { createFakeClock } from '../../../testing/time/fake-clock.fixture.ts'
import { createRetrier } from './append-once.ts'

test('tells when trouble begins and reminds of it while it lasts, not at every try', async () => {
  const told: string[] = []
  let tries = 0
  const retrier = createRetrier({
    sleep: async () => undefined,
    signal: new AbortController().signal,
    onProblem: (error) => void told.push(`${error.code} at try ${tries}`),
  })
  const value = await retrier.waitOut(async () => {
    tries += 1
    if (tries <= 1_300) throw new ServiceError('store_unavailable')
    return 'at last'
  })
  expect(value).toBe('at last')
  expect(told).toEqual([
    'store_unavailable at try 1',
    'store_unavailable at try 600',
    'store_unavailable at try 1200',
  ])
  expect(retrier.problem()).toBeUndefined()
})

test('a store that was away for long is noticed within two seconds by all who wait, and asked by few', async () => {
  const time = createFakeClock(0)
  const { signal } = new AbortController()
  const retrier = createRetrier({ sleep: time.sleep, signal })
  let [isAway, asked] = [true, 0]
  const doneAt: number[] = []
  const works = Array.from({ length: 50 }, async () => {
    await retrier.waitOut(async () => {
      asked += 1
      if (isAway) throw new ServiceError('store_unavailable')
    })
    doneAt.push(time.now())
  })
  await time.advance(120_000)
  expect(asked).toBeLessThan(120 + 50 * (4 + 120 / 15))
  isAway = false
  await time.advance(2_000)
  expect(doneAt).toHaveLength(50)
  await Promise.all(works)
})
