import { expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { awaitStore } from './open-platform.ts'

/** A store that answers at a time of a clock that only sleeping moves. */
function storeBackAt(backAtMs: number, away = new ServiceError('store_unavailable', { message: 'refused' })) {
  let now = 0
  const time = { elapsed: () => now, sleep: async (ms: number) => void (now += ms) }
  const logged: number[] = []
  const log = { warn: ({ waitedMs }: { waitedMs: number }) => void logged.push(waitedMs) }
  const ask = async (): Promise<number> => {
    if (now < backAtMs) throw away
    return now
  }
  return { logged, opened: awaitStore(ask, { settings: { STORE_WAIT: 120 }, log } as never, time) }
}

test('a store that comes within the time is waited for, and that is logged every ten seconds', async () => {
  const { logged, opened } = storeBackAt(25_000)
  expect(await opened).toBe(25_000)
  expect(logged).toEqual([0, 10_000, 20_000])
  const other = storeBackAt(1_000, new ServiceError('outcome_unknown'))
  expect(await other.opened).toBe(1_000)
})

test('one that does not is told with the setting to look at', async () => {
  const refusal = storeBackAt(120_500).opened.catch((error: unknown) => error)
  expect(await refusal).toMatchObject({
    code: 'store_unavailable',
    message: 'The event store was not there within 120 s: refused',
    nextStep: expect.stringContaining('EVENTSTORE_URL'),
  })
})

test('what waiting does not mend ends the start at once', async () => {
  const { logged, opened } = storeBackAt(1, new ServiceError('store_mismatch', { message: 'another key' }))
  await expect(opened).rejects.toMatchObject({ code: 'store_mismatch' })
  expect(logged).toEqual([])
})
