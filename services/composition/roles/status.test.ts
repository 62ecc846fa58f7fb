import { expect, test } from 'vitest'
import { newEvent } from '../../../contracts/event-definition.ts'
import { LeaseTaken } from '../../../contracts/lease-events.ts'
import { leaseStream } from '../../../contracts/streams.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { openLeases } from '../adapters/shared-leases.ts'
import { versionsOf } from './status.ts'

const settings = { EVENTSTORE_URL: 'esdb://127.0.0.1:2113' }
const nothing = async (): Promise<void> => undefined

test('the releases that run are those of the holders of leases; one that does not say its own is counted, too', async () => {
  const store = openMemoryStore({ now: Date.now })
  let drawn = 0
  const newId = () => `00000000-0000-8000-8000-${String(++drawn).padStart(12, '0')}`
  const part = (holder: string) => ({ holder, renewedBy: 0, ttlMs: 1_000, shards: [] })
  const said = newEvent(LeaseTaken, {
    id: newId(),
    data: { group: 'engine', holder: 'c', table: [part('a'), part('b 1.2.0'), part('c 1.3.0')] },
    meta: { correlationId: 'test', actor: 'test' },
  })
  await store.append(leaseStream('engine'), [said], { expected: 'no-stream' })
  const ending = new AbortController()
  const basics = { store, newId, sleep, now: Date.now, random: (bytes: number) => Buffer.alloc(bytes) }
  const log = { warn: () => undefined }
  const platform = { basics, processId: newId() }
  const own = openLeases({ settings, log, version: '1.3.0', platform } as never, 'settler', 1)
  const running = own.run({ gained: nothing, lost: nothing }, ending.signal)
  while (own.held().length === 0) await sleep(5, ending.signal)
  expect(await versionsOf({ settings, platform: { store }, version: '1.3.0' } as never)).toEqual([
    { version: null, processes: 1 },
    { version: '1.2.0', processes: 1 },
    { version: '1.3.0', processes: 2 },
  ])
  ending.abort()
  await running
  await store.close()
})
