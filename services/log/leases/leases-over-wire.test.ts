import { afterEach, beforeEach, expect, test } from 'vitest'
import { startWireDouble, type WireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { openEventStoreDbStore } from '../eventstoredb/eventstoredb-store.ts'
import { SharedLeases } from './shared-leases.ts'

let double: WireDouble
beforeEach(async () => {
  double = await startWireDouble()
})
afterEach(() => double.stop())

interface Holder {
  readonly gained: { shard: number; token: number }[]
  readonly errors: string[]
  held(): readonly unknown[]
  end(): Promise<void>
}

function start(holder: string): Holder {
  const store = openEventStoreDbStore({ connectionString: double.connectionString, answerTimeoutMs: 200 })
  const ending = new AbortController()
  const gained: Holder['gained'] = []
  const errors: string[] = []
  const leases = new SharedLeases({
    store,
    group: 'settler',
    shards: 1,
    holder,
    newId: () => crypto.randomUUID(),
    elapsed: () => performance.now(),
    now: Date.now,
    sleep,
    report: (error) => errors.push(String(error)),
    ttlMs: 1_500,
    renewMs: 200,
    graceMs: 200,
  })
  const work = {
    gained: async (lease: { shard: number; token: number }) => void gained.push(lease),
    lost: async () => undefined,
  }
  const running = leases.run(work, ending.signal)
  return {
    gained,
    errors,
    held: () => leases.held(),
    async end() {
      ending.abort()
      await running
      await store.close()
    },
  }
}

test('a server that is killed over a claim, and comes back, leaves no shard that nobody works on', async () => {
  double.faults.failNextAppend('held-after-commit')
  const holder = start('first')
  await expect.poll(() => double.log.events.length, { timeout: 10_000 }).toBe(1)
  double.stop()
  await sleep(300, new AbortController().signal)
  await double.restart()
  await expect.poll(() => holder.held(), { timeout: 5_000 }).toHaveLength(1)
  expect(holder.gained).toHaveLength(1)
  await holder.end()
})

test('a claim that is written and not replicated for a while is worked on once it shows', async () => {
  double.log.holdReplication()
  double.faults.failNextAppend('timeout-after-commit')
  const holder = start('first')
  await sleep(700, new AbortController().signal)
  double.log.replicate()
  await expect.poll(() => holder.held(), { timeout: 6_000 }).toHaveLength(1)
  await holder.end()
  const next = start('second')
  await expect.poll(() => next.held(), { timeout: 6_000 }).toHaveLength(1)
  expect(next.gained[0]?.token).toBeGreaterThan(holder.gained.at(-1)?.token ?? Number.POSITIVE_INFINITY)
  await next.end()
})
