import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { START } from '../../../contracts/infra/position.ts'
import { appendNext } from '../../../testing/append-next.ts'
import type { AppendFault } from '../../../testing/eventstoredb-double/faults.ts'
import { startWireDouble, type WireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import { anEvent, collect, refusal } from '../event-store.contract.ts'
import type { EventStore } from '../event-store.ts'
import { openEventStoreDbStore } from './eventstoredb-store.ts'

/** Long enough for an answer over loopback on a busy machine, short enough to wait out where there is none. */
const SHORT_TIMEOUT_MS = 1_000

/** An event of the client's own making. */
const proposal = () => jsonEvent({ type: 'SomethingHappened', data: { n: 1 } })

let double: WireDouble
let store: EventStore

const open = (answerTimeoutMs = SHORT_TIMEOUT_MS): EventStore =>
  openEventStoreDbStore({ connectionString: double.connectionString, answerTimeoutMs })

beforeEach(async () => {
  double = await startWireDouble()
  store = open()
})
afterEach(async () => {
  double.faults.thaw()
  await store.close()
  double.stop()
})

describe('an append that meets a fault', () => {
  const cases: [AppendFault, code: string, isWritten: boolean][] = [
    ['lost-before-commit', 'append_unknown', false],
    ['lost-after-commit', 'append_unknown', true],
    ['timeout-after-commit', 'append_unknown', true],
    ['held-after-commit', 'append_unknown', true],
    ['silent-end-after-commit', 'append_unknown', true],
    ['busy', 'store_unavailable', false],
    ['not-leader', 'store_unavailable', false],
  ]
  test.each(cases)('%s: is %s, and its repeat is right', async (fault, code, isWritten) => {
    const { revision } = await store.append('s-1', [anEvent()], { expected: 'no-stream' })
    const batch = [anEvent(), anEvent()]
    double.faults.failNextAppend(fault)
    expect((await refusal(store.append('s-1', batch, { expected: revision }))).code).toBe(code)
    expect(double.log.visible('s-1')).toHaveLength(isWritten ? 3 : 1)

    const result = await store.append('s-1', batch, { expected: revision })
    const stored = await collect(store.read('s-1'))
    expect(stored.map((event) => event.id).slice(1)).toEqual(batch.map((event) => event.id))
    expect(result).toEqual({ revision: 2, position: stored[2]?.position, replayed: isWritten })
  })

  test('an answer that comes after the timeout disturbs nobody', async () => {
    const event = anEvent()
    double.faults.failNextAppend('held-after-commit')
    await refusal(store.append('s-1', [event], { expected: 'no-stream' }))
    double.faults.releaseHeld()
    expect(await store.append('s-1', [event], { expected: 'no-stream' })).toMatchObject({ replayed: true })
    expect(await store.append('s-1', [anEvent()], { expected: 0 })).toMatchObject({ revision: 1 })
  })

  test('a server that dies over it leaves it unknown; the next start knows it', async () => {
    const event = anEvent()
    double.faults.failNextAppend('held-after-commit')
    const patient = open(10_000)
    const appending = refusal(patient.append('s-1', [event], { expected: 'no-stream' }))
    while (double.log.events.length === 0) await new Promise((resolve) => setImmediate(resolve))
    await double.restart()
    expect((await appending).code).toBe('append_unknown')
    expect(await patient.append('s-1', [event], { expected: 'no-stream' })).toMatchObject({ replayed: true })
    await patient.close()
  })
})

describe('a server that is not there', () => {
  test('frozen: appends are unknown, reads and health say so, and all goes on after', async () => {
    const event = anEvent()
    await store.append('s-1', [event], { expected: 'no-stream' })
    double.faults.freeze()
    expect((await refusal(store.append('s-1', [anEvent()], { expected: 0 }))).code).toBe('append_unknown')
    expect((await refusal(collect(store.read('s-1')))).code).toBe('store_unavailable')
    expect((await refusal(store.head())).code).toBe('store_unavailable')
    expect(await store.health()).toMatchObject({ ok: false, adapter: 'eventstoredb' })
    double.faults.thaw()
    expect(await store.health()).toMatchObject({ ok: true, version: '23.10.0' })
    expect((await collect(store.read('s-1')))[0]?.id).toBe(event.id)
  })

  test('a first connection that fails is unavailable, not unknown, and is made by a later call', async () => {
    double.stop()
    const fresh = open(5_000)
    const error = await refusal(fresh.append('s-1', [anEvent()], { expected: 'no-stream' }))
    expect(error.code).toBe('store_unavailable')
    expect(await fresh.health()).toMatchObject({ ok: false })
    await double.restart()
    // The transport waits before it connects again, and refuses in the meantime.
    while (!(await fresh.health()).ok) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await fresh.append('s-1', [anEvent()], { expected: 'no-stream' })).toMatchObject({ revision: 0 })
    await fresh.close()
  })

  test('a cluster is found through gossip', async () => {
    const host = `127.0.0.1:${double.port}`
    const found = openEventStoreDbStore({ connectionString: `esdb://${host},${host}?tls=false` })
    expect(await found.append('s-1', [anEvent()], { expected: 'no-stream' })).toMatchObject({ revision: 0 })
    await found.close()
  })

  test('another leader: the repeat goes there', async () => {
    const leader = await startWireDouble()
    const follower = await startWireDouble({ leaderPort: leader.port })
    const moving = openEventStoreDbStore({ connectionString: follower.connectionString })
    const event = anEvent()
    follower.faults.failNextAppend('not-leader')
    expect((await refusal(moving.append('s-1', [event], { expected: 'no-stream' }))).code).toBe(
      'store_unavailable',
    )
    await moving.append('s-1', [event], { expected: 'no-stream' })
    expect([follower.log.events.length, leader.log.events.length]).toEqual([0, 1])
    await moving.close()
    follower.stop()
    leader.stop()
  })
})

describe("the client's own faults", () => {
  test('a batch that ends without an answer leaves the plain client waiting for ever', async () => {
    const plain = EventStoreDBClient.connectionString(double.connectionString)
    double.faults.failNextAppend('silent-end-after-commit')
    let isSettled = false
    const settle = (): void => {
      isSettled = true
    }
    plain.appendToStream('s-1', [proposal()], { deadline: 2_000 }).then(settle, settle)
    while (double.log.events.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const patient = open(10_000)
    for (let n = 0; n < 20; n++) await collect(patient.read('s-other'))
    await patient.close()
    expect(isSettled).toBe(false)
    expect(double.calls.batchAppend).toBe(1)
  })

  test('an error of another client of the process rejects no append of the store', async () => {
    const other = await startWireDouble()
    const plain = EventStoreDBClient.connectionString(other.connectionString)
    await plain.appendToStream('s-1', [proposal()])
    double.faults.failNextAppend('held-after-commit')
    const patient = open(10_000)
    const appending = patient.append('s-1', [anEvent()], { expected: 'no-stream' })
    while (double.log.events.length === 0) await new Promise((resolve) => setImmediate(resolve))
    other.faults.failNextAppend('lost-before-commit')
    await expect(plain.appendToStream('s-1', [proposal()])).rejects.toThrow('Connection dropped')
    double.faults.releaseHeld()
    expect(await appending).toMatchObject({ revision: 0, replayed: false })
    expect(double.calls).toMatchObject({ append: 1, batchAppend: 0 })
    await patient.close()
    other.stop()
  })

  test('a clock far behind that of the server fails no append', async () => {
    const ahead = await startWireDouble({ now: () => Date.now() + 3_600_000 })
    const skewed = openEventStoreDbStore({ connectionString: ahead.connectionString })
    expect(await skewed.append('s-1', [anEvent()], { expected: 'no-stream' })).toMatchObject({ revision: 0 })
    await skewed.close()
    ahead.stop()
  })

  test('data that would hang the client never reaches it', async () => {
    const event = { ...anEvent(), data: { n: 1n } as never }
    expect((await refusal(appendNext(store, 's-1', [event]))).code).toBe('event_invalid')
    expect(double.calls.append).toBe(0)
  })

  test('data that changes while the append waits is written as it was', async () => {
    const data = { n: 1 }
    const appending = store.append('s-1', [anEvent(data)], { expected: 'no-stream' })
    data.n = 2
    await appending
    expect((await collect(store.read('s-1')))[0]?.data).toEqual({ n: 1 })
  })
})

describe('what the server answers as if it were new', () => {
  test('any: it is written at the end of the stream, wherever that is by then', async () => {
    const appends = Array.from({ length: 8 }, () => appendNext(store, 's-1', [anEvent(), anEvent()]))
    const revisions = (await Promise.all(appends)).map(({ revision }) => revision)
    expect(revisions.toSorted((a, b) => a - b)).toEqual([1, 3, 5, 7, 9, 11, 13, 15])
    expect(double.log.visible('s-1')).toHaveLength(16)
  })

  test('a revision: part of an append in its place is a conflict of ids', async () => {
    const [a, b, c] = [anEvent(), anEvent(), anEvent()]
    await store.append('s-1', [a, b], { expected: 'no-stream' })
    for (const events of [
      [a, c],
      [a, b, c],
      [c, b],
    ]) {
      const error = await refusal(store.append('s-1', events, { expected: 'no-stream' }))
      expect(error.code).toBe('idempotency_conflict')
    }
    expect(await store.append('s-1', [a], { expected: 'no-stream' })).toMatchObject({
      revision: 0,
      replayed: true,
    })
  })
})

describe('what else may be in the database', () => {
  test("EventStoreDB's own events are never shown", async () => {
    const { position } = await store.append('s-1', [anEvent()], { expected: 'no-stream' })
    double.log.softDelete('s-other')
    expect(double.log.events).toHaveLength(2)
    expect(await store.head()).toBe(position)
    expect(await collect(store.readAll())).toHaveLength(1)
    expect(await collect(store.read('$$s-other'))).toEqual([])
  })

  test('an event of another service is left out of the log, and cannot be read in a stream of ours', async () => {
    const plain = EventStoreDBClient.connectionString(double.connectionString)
    await plain.appendToStream('s-foreign', [jsonEvent({ type: 'ForeignHappened', data: {} })])
    await store.append('s-1', [anEvent()], { expected: 'no-stream' })
    expect(await collect(store.readAll())).toHaveLength(1)
    const error = await refusal(collect(store.read('s-foreign')))
    expect(error.code).toBe('event_unreadable')
    expect(error.message).toContain('ForeignHappened at revision 0 of s-foreign')
  })

  test('a position at which no event begins is refused, to a reader and to one who follows', async () => {
    const { position } = await store.append('s-1', [anEvent()], { expected: 'no-stream' })
    await store.append('s-1', [anEvent()], { expected: 0 })
    const inside = `${Number(position.split('/')[0]) + 1}`
    const after = `${inside}/${inside}`
    const following = collect(store.subscribe({ after, signal: AbortSignal.timeout(20_000) }))
    for (const work of [collect(store.readAll({ after })), following]) {
      const error = await refusal(work)
      expect(error.code).toBe('invalid_request')
      expect(error.message).toContain('not one of this log')
    }
  })

  test('a deleted stream is missing and counts on; a tombstoned one is empty and closed', async () => {
    await store.append('s-1', [anEvent(), anEvent()], { expected: 'no-stream' })
    double.log.softDelete('s-1')
    expect(await collect(store.read('s-1'))).toEqual([])
    expect(await store.append('s-1', [anEvent()], { expected: 'no-stream' })).toMatchObject({ revision: 2 })
    expect(await collect(store.read('s-1'))).toHaveLength(1)
    double.log.tombstone('s-1')
    expect(await collect(store.read('s-1'))).toEqual([])
    expect((await refusal(appendNext(store, 's-1', [anEvent()]))).code).toBe('stream_erased')
  })

  test('a position of another kind of store is refused', async () => {
    expect((await refusal(collect(store.readAll({ after: '17' })))).code).toBe('invalid_request')
    expect(await collect(store.readAll({ after: START }))).toEqual([])
  })
})
