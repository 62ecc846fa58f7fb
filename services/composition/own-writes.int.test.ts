import { mkdtempSync } from 'node:fs'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { START } from '../../contracts/position.ts'
import { REGIMES } from '../../contracts/regime.ts'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import { verdictRecorded } from '../../projections/given-events.fixture.ts'
import { type DataProjection, regimeShifts, trackRecord } from '../../projections/index.ts'
import { startWireDouble } from '../../testing/eventstoredb-double/wire-double.ts'
import { createMemoryLog, openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import { regimeShiftHistory } from '../analyst/index.ts'
import { serverOptions } from '../http/testing/server-options.fixture.ts'
import type { EventStore } from '../log/event-store.ts'
import { openEventStoreDbStore } from '../log/eventstoredb/eventstoredb-store.ts'
import { noteSeen } from '../log/note-seen.ts'
import { startProjector } from '../log/projector/projector.ts'
import { openRowTables } from '../log/projector/row-tables.ts'
import { counter } from '../log/projector/testing/counter.fixture.ts'
import { sleep } from '../runtime/async/sleep.ts'
import { readPositions } from './roles/read-models.ts'
import { createServer } from './server.ts'

/** Two stores over one log. */
async function memoryStores(onEnd: (end: () => unknown) => void): Promise<EventStore[]> {
  const log = createMemoryLog()
  const stores = [1, 2].map(() => openMemoryStore({ now: () => 0, log }))
  onEnd(() => Promise.all(stores.map((store) => store.close())))
  return stores
}
async function eventStoreDbStores(onEnd: (end: () => unknown) => void): Promise<EventStore[]> {
  const double = await startWireDouble()
  const stores = [1, 2].map(() => openEventStoreDbStore({ connectionString: double.connectionString }))
  onEnd(() => double.stop())
  onEnd(() => Promise.all(stores.map((store) => store.close())))
  return stores
}

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

test('a read model that stands still keeps nobody waiting, and the answer names it', async () => {
  const store = openMemoryStore({ now: () => 0 })
  ends.push(() => store.close())
  let count = 0
  const append = async () => {
    const verdictId = `00000000-0000-8000-8000-${String(count++).padStart(12, '0')}`
    const { stream, event } = verdictRecorded({ barClose: count * HOUR_MS, verdictId, regime: 'RANGING' })
    return (await store.append(stream, [{ ...event, id: verdictId }], { expected: 'any' })).position
  }
  for (let n = 0; n < 20; n++) await append()
  const path = join(mkdtempSync(join(tmpdir(), 'own-writes-')), 'projections.db')
  const follows = { ...counter(1), name: 'follows' }
  const start = async (counted: DataProjection) => {
    const tables = openRowTables(path, 'log')
    const projector = startProjector({ store, tables, projections: [counted, follows], sleep })
    await projector.caughtUp()
    return projector
  }
  await (await start(counter(1))).close()
  const projector = await start({
    ...counter(2),
    fold(rows, event) {
      if (event.position === '10') throw new Error('is of no use')
      counter(2).fold(rows, event)
    },
  })
  ends.push(() => projector.close())
  const written = await append()
  const positions = readPositions({ platform: { store }, projector, seen: () => START } as never)
  const app = await createServer(serverOptions({ positions }))
  ends.push(() => app.close())
  app.get('/read', async () => ({}))
  const response = await app.inject(`/read?wait_for=${written}`)
  expect(response.statusCode).toBe(200)
  expect(response.headers['x-service-behind']).toBe('counter')
  const before = await app.inject('/read?wait_for=19')
  expect(before.headers).not.toHaveProperty('x-service-behind')
})

describe.each([
  ['the memory store', memoryStores],
  ['EventStoreDB', eventStoreDbStores],
])('what one process wrote, over %s, is read in another', (_, openStores) => {
  /** A process whose read models take in nothing while `isHeld`. */
  async function process(over: EventStore) {
    const held = { isHeld: false }
    const subscribe: EventStore['subscribe'] = async function* (options) {
      for await (const item of over.subscribe(options)) {
        while (held.isHeld && !options.signal.aborted) await sleep(5, options.signal)
        yield item
      }
    }
    const { store, newest: seen } = noteSeen(over)
    const tables = openRowTables(':memory:', 'log')
    const projections = [regimeShifts, trackRecord]
    const projector = startProjector({ store: { ...store, subscribe }, tables, projections, sleep })
    ends.push(() => projector.close())
    await projector.caughtUp()
    const positions = readPositions({ platform: { store }, projector, seen } as never)
    const reader = projector.reader(regimeShifts)
    const placed = {
      range: (options: Parameters<typeof reader.range>[0]) => reader.range(options),
      position: () => reader.health().position,
    }
    const app: FastifyInstance = await createServer(
      serverOptions({
        positions,
        regimeShifts: (query) => regimeShiftHistory(placed, { ...query, now: 1_000 * HOUR_MS }),
      }),
    )
    let hour = 0
    app.post('/write', async () => {
      const { stream, event } = verdictRecorded({
        barClose: hour * HOUR_MS,
        verdictId: `00000000-0000-8000-8000-${String(hour).padStart(12, '0')}`,
        regime: REGIMES[hour % REGIMES.length] ?? 'RANGING',
      })
      hour += 1
      await store.append(stream, [{ ...event, id: (event.data as { verdictId: string }).verdictId }], {
        expected: 'any',
      })
      return {}
    })
    await app.listen({ host: '127.0.0.1', port: 0 })
    ends.push(() => app.close())
    const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
    return { held, url, positions }
  }
  const write = async (url: string) =>
    (await fetch(`${url}/write`, { method: 'POST' })).headers.get('x-service-position') ?? ''
  async function read(url: string, waitFor?: string) {
    const more = waitFor === undefined ? '' : `&wait_for=${encodeURIComponent(waitFor)}`
    const response = await fetch(`${url}/api/regime-shifts?exchange=SIM&coin=BTC&timeframe=1h${more}`)
    const body = (await response.json()) as { rows?: readonly unknown[]; code?: string; as_of?: string }
    return { status: response.status, ...body }
  }

  test('once its read models have come so far, and not before', async () => {
    const [first, second] = await openStores((end) => ends.push(end))
    const writer = await process(first as EventStore)
    const reader = await process(second as EventStore)
    await write(writer.url)
    expect((await read(reader.url, await write(writer.url))).rows).toHaveLength(1)
    reader.held.isHeld = true
    const written = await write(writer.url)
    expect(written).not.toBe(START)
    expect((await read(reader.url)).rows).toHaveLength(1)
    let isAnswered = false
    const waiting = read(reader.url, written).finally(() => (isAnswered = true))
    // Other reads are answered meanwhile; a position that nobody has written is refused.
    for (let n = 0; n < 20; n++) expect((await read(reader.url)).rows).toHaveLength(1)
    expect(isAnswered).toBe(false)
    const farther = written.replaceAll(/\d+/g, (part) => `${part}0`)
    expect(await read(reader.url, farther)).toMatchObject({ status: 409, code: 'position_unknown' })
    expect(await read(reader.url, 'soon')).toMatchObject({ status: 400, code: 'invalid_request' })
    reader.held.isHeld = false
    expect((await waiting).rows).toHaveLength(2)
  })

  test('and an answer that wrote nothing itself names no earlier place than what it may have read', async () => {
    const [first, second] = await openStores((end) => ends.push(end))
    const writer = await process(first as EventStore)
    const reader = await process(second as EventStore)
    const written = await write(writer.url)
    await read(reader.url, written)
    const repeated = await fetch(`${reader.url}/nothing`, { method: 'POST' })
    expect(repeated.headers.get('x-service-position')).toBe(written)
  })
})
