import { afterEach, beforeEach, expect, test } from 'vitest'
import { anEvent, collect } from '../event-store.contract.ts'
import type { EventStore } from '../event-store.ts'
import { startWireDouble, type WireDouble } from '../wire-double/wire-double.ts'
import { openEventStoreDbStore } from './eventstoredb-store.ts'

let double: WireDouble
let store: EventStore
beforeEach(async () => {
  double = await startWireDouble()
  store = openEventStoreDbStore({ connectionString: double.connectionString })
})
afterEach(async () => {
  await store.close()
  double.stop()
})

test('an append that followers confirm late is written once; one that they did not confirm in time is unknown until they are back', async () => {
  const [late, unknown] = [anEvent(), anEvent()]
  double.faults.loseFollowers()
  const given = store.append('s-unknown', [unknown], { expected: 'no-stream' })
  await expect(given).rejects.toMatchObject({ code: 'append_unknown' })
  const waiting = store.append('s-late', [late], { expected: 'no-stream' })
  expect(await collect(store.readAll())).toEqual([])
  double.faults.followersReturn()
  expect(await waiting).toMatchObject({ revision: 0, replayed: false })
  const again = await store.append('s-unknown', [unknown], { expected: 'no-stream' })
  expect(again).toMatchObject({ revision: 0, replayed: true })
  expect(await collect(store.readAll())).toHaveLength(2)
})
