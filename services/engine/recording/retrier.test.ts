import { expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
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
