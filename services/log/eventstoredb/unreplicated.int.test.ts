import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { codeOf } from '../../../contracts/errors/code-of.fixture.ts'
import { startWireDouble, type WireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { appendWithRetry, RETRY_FOR_CALLER } from '../append-with-retry.ts'
import { anEvent, collect } from '../event-store.contract.ts'
import type { EventStore } from '../event-store.ts'
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

/** Followers stall: the server ends a write that they do not confirm, and keeps it. */
function stall(): void {
  double.log.holdReplication()
  double.faults.failNextAppend('timeout-after-commit')
}

describe('an append that is written and not replicated yet', () => {
  test('stays unknown however often it is repeated, and is a replay once it can be read', async () => {
    const event = anEvent()
    stall()
    expect(await codeOf(store.append('s', [event], { expected: 'no-stream' }))).toBe('append_unknown')
    expect(await codeOf(store.append('s', [event], { expected: 'no-stream' }))).toBe('append_unknown')
    double.log.replicate()
    expect(await store.append('s', [event], { expected: 'no-stream' })).toMatchObject({ replayed: true })
  })

  test('is never told as somebody else’s: another append to its place is unknown, and a conflict later', async () => {
    await store.append('s', [anEvent()], { expected: 'no-stream' })
    stall()
    await codeOf(store.append('s', [anEvent()], { expected: 0 }))
    const other = anEvent()
    expect(await codeOf(store.append('s', [other], { expected: 0 }))).toBe('append_unknown')
    double.log.replicate()
    expect(await codeOf(store.append('s', [other], { expected: 0 }))).toBe('revision_conflict')
  })

  test('is pursued until it shows', async () => {
    const event = anEvent()
    stall()
    setTimeout(() => double.log.replicate(), 60)
    const path = {
      store,
      policy: RETRY_FOR_CALLER,
      now: Date.now,
      sleep,
      signal: new AbortController().signal,
    }
    const outcome = appendWithRetry(path, { stream: 's', events: [event], expected: 'no-stream' })
    expect(await outcome).toMatchObject({ kind: 'appended', revision: 0, isOurs: true })
    expect(await collect(store.read('s'))).toHaveLength(1)
  })
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

test('a log that ends before the position that it is read up to is not taken for whole', async () => {
  await store.append('s', [anEvent()], { expected: 'no-stream' })
  const { position } = await store.append('s', [anEvent()], { expected: 0 })
  expect(await collect(store.readAll({ upTo: position }))).toHaveLength(2)
  // Another server answers now, which has not come so far.
  const behind = (BigInt(position.split('/')[0] ?? '') + 500n).toString()
  await expect(collect(store.readAll({ upTo: `${behind}/${behind}` }))).rejects.toMatchObject({
    code: 'store_unavailable',
  })
})
