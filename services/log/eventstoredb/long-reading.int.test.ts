import { afterEach, beforeEach, expect, test } from 'vitest'
import type { EventType } from '../../../contracts/events/event-catalogue.ts'
import type { Projection } from '../../../projections/index.ts'
import { startWireDouble, type WireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import { anEvent, collect } from '../event-store.contract.ts'
import type { EventStore } from '../event-store.ts'
import { startProjector } from '../projector/projector.ts'
import { openRowTables } from '../projector/row-tables.ts'
import { openEventStoreDbStore } from './eventstoredb-store.ts'

const TYPES = ['QuotaDebited', 'ChatAnswered', 'DaySealed'] as const
let double: WireDouble
let store: EventStore
beforeEach(async () => {
  double = await startWireDouble()
  store = openEventStoreDbStore({ connectionString: double.connectionString })
  for (let n = 0; n < 12; n++) {
    const events = Array.from({ length: 250 }, (_, index) => anEvent({ n, index }, TYPES[index % 3]))
    await store.append(`s-${n}`, events, { expected: 'no-stream' })
  }
  double.calls.read = 0
})
afterEach(async () => {
  await store.close()
  double.stop()
})

const counting = (name: string, type: EventType): Projection => ({
  name,
  version: 1,
  events: [type],
  needs: 'recorded',
  fold: (rows) => rows.put('count', { n: Number(rows.get('count')?.['n'] ?? 0) + 1 }),
})

test('nine read models that are built together read the log once', async () => {
  const projections = Array.from('abcdefghi', (name, n) => counting(name, TYPES[n % 3] ?? 'DaySealed'))
  const sleep = async (): Promise<void> => undefined
  const tables = openRowTables(':memory:', 'log')
  const projector = startProjector({ store, tables, projections, sleep })
  await projector.caughtUp()
  const counts = projections.map((projection) => projector.reader(projection).get('count')?.['n'])
  expect(counts).toEqual(projections.map((_, n) => (n % 3 === 0 ? 1_008 : 996)))
  // One reading of the past, and one each for its end, the place of the subscription and what came meanwhile.
  expect(double.calls.read).toBeLessThanOrEqual(4)
  await projector.close()
})

test('a long reading goes on where it was, over a connection that breaks again and again', async () => {
  const seen: string[] = []
  let restarting = Promise.resolve()
  for await (const { id } of store.readAll()) {
    seen.push(id)
    // In the middle of what is taken: what was sent already still comes, and then the break.
    if (seen.length % 700 === 0) restarting = restarting.then(() => double.restart())
  }
  await restarting
  expect(seen).toEqual((await collect(store.readAll())).map(({ id }) => id))
  expect(seen).toHaveLength(3_000)
  expect(double.calls.read).toBeGreaterThan(2)
})
