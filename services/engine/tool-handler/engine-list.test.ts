import { expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import { createEngineList } from './engine-list.ts'

test('a bus that refuses is waited out, and a fault of the program is not taken for silence', async () => {
  const answers = [new ServiceError('bus_unavailable'), new TypeError('no such thing')]
  let looks = 0
  const list = createEngineList({
    bus: { request: () => Promise.reject(answers[looks]) },
    elapsed: () => 0,
    sleep: async () => void looks++,
  })
  await expect(list.run(new AbortController().signal)).rejects.toThrow('no such thing')
  expect(looks).toBe(1)
})
