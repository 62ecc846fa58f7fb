import { expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import { awaitStore } from './await-store.ts'

/** A store that answers at a time of a clock that only sleeping moves. */
function storeBackAt(backAtMs: number, away = new ServiceError('store_unavailable', { message: 'refused' })) {
  let now = 0
  const said: number[] = []
  const wait = {
    waitMs: 120_000,
    elapsed: () => now,
    sleep: async (ms: number) => void (now += ms),
    say: (_: string, waitedMs: number) => void said.push(waitedMs),
  }
  const ask = async (): Promise<number> => {
    if (now < backAtMs) throw away
    return now
  }
  return { said, opened: awaitStore(ask, wait) }
}

test('a store that comes within the time is waited for, and that is said every ten seconds', async () => {
  const { said, opened } = storeBackAt(25_000)
  expect(await opened).toBe(25_000)
  expect(said).toEqual([0, 10_000, 20_000])
  expect(await storeBackAt(1_000, new ServiceError('outcome_unknown')).opened).toBe(1_000)
})

test('one that does not is told with the setting to look at', async () => {
  const refusal: unknown = await storeBackAt(120_500).opened.catch((error: unknown) => error)
  expect(refusal).toMatchObject({
    code: 'store_unavailable',
    message: 'The event store was not there within 120 s: refused',
  })
  expect((refusal as ServiceError).nextStep).toContain('EVENTSTORE_URL')
})

test('what waiting does not mend ends the start at once', async () => {
  const { said, opened } = storeBackAt(1, new ServiceError('store_mismatch', { message: 'another key' }))
  await expect(opened).rejects.toMatchObject({ code: 'store_mismatch' })
  expect(said).toEqual([])
})
