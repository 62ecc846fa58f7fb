import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventStoreDBClient, jsonEvent, streamNameFilter } from '@eventstore/db-client'
import { START } from '../contracts/infra/position.ts'
import { PROJECTIONS } from '../projections/index.ts'
import { copyToEventStoreDb } from '../services/log/copy/copy-to-eventstoredb.ts'
import { openEmbeddedStore } from '../services/log/embedded/embedded-store.ts'
import type { EventStore } from '../services/log/event-store.ts'
import { openEventStoreDbStore } from '../services/log/eventstoredb/eventstoredb-store.ts'
import { startProjector } from '../services/log/projector/projector.ts'
import { openRowTables } from '../services/log/projector/row-tables.ts'
import { createMcpEdge, listen } from '../services/mcp/testing/mcp-edge.fixture.ts'
import { payments } from '../services/payments/payments-projection.ts'
import { sleep } from '../services/runtime/async/sleep.ts'
import { uuidV7 } from '../services/runtime/ids/uuid.ts'
import { subscriptionsReadModel } from '../services/webhooks/index.ts'
import { openCountedCalls } from './support/counted-calls.ts'
import { loadCandidate } from './support/http-load.ts'
import { type Candidate, measure, print, report, timed } from './support/measure.ts'
import { sampleVerdict } from './support/sample-events.ts'

/**
 * The log in EventStoreDB beside the embedded one and beside the client alone: counted calls, appends, following the
 * log from its beginning, and building every read model. It writes to the log at EVENTSTORE_URL, which is to be one of
 * its own, and does nothing without.
 *
 * EVENTSTORE_URL=esdb://127.0.0.1:2113?tls=false node bench/eventstoredb.bench.ts [copying|calls|appends|reading|building …]
 * BENCH_EVENTS=50000 BENCH_ROUNDS=3 BENCH_SECONDS=2
 *
 * Budgets: a copied log at least 10,000 events/s, its log at EVENTSTORE_URL empty; counted calls at least 0.15 of the embedded store; appends at least 0.2 and following the log at least 0.7 of the client; at most 450 MB.
 */
const { EVENTSTORE_URL } = process.env
const EVENTS = Number(process.env.BENCH_EVENTS ?? 50_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 2)
const CALLERS = 64
const PER_APPEND = 200

const PARTS: Readonly<Record<string, (url: string) => Promise<void>>> = {
  copying,
  calls,
  appends,
  reading,
  building,
}

/**
 * A whole log to the server, as `signal store copy` takes it: 400 series in turn, so that neighbours in the log are of
 * several streams. Beside it the client alone appends the same events in the same order, as many under way. The copy
 * wants an empty log, so it comes first and once.
 */
async function copying(url: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-copy-'))
  await fillFolder(directory)
  const store = openEventStoreDbStore({ connectionString: url })
  const { signal } = new AbortController()
  const speeds: Record<string, string> = {}
  const clock = (): { tell: (name: string, events: number) => void } => {
    const [began, cpu] = [performance.now(), process.cpuUsage()]
    return {
      tell(name, events) {
        const { user, system } = process.cpuUsage(cpu)
        const each = ((user + system) / 1_000 / events).toFixed(3)
        speeds[name] =
          `${Math.round((events * 1_000) / (performance.now() - began))}/s, ${each} ms of a core each`
      },
    }
  }
  let running = clock()
  const options = { directory, store, newId: randomUUID, now: Date.now, signal, onProgress: () => undefined }
  await copyToEventStoreDb(options)
  running.tell('copied and read back', EVENTS)
  const client = EventStoreDBClient.connectionString(url)
  const source = await openEmbeddedStore({ directory, now: Date.now })
  running = clock()
  const underWay: Promise<unknown>[] = []
  for await (const { stream, revision, type, data, meta } of source.readAll()) {
    const event = jsonEvent({ type, data: data as never, metadata: { ...meta } as never })
    const expectedRevision = revision === 0 ? 'no_stream' : BigInt(revision - 1)
    underWay.push(client.appendToStream(`raw-${stream}`, [event], { expectedRevision }))
    if (underWay.length >= 256) await underWay.shift()
  }
  await Promise.all(underWay)
  running.tell('appended by the client alone', EVENTS)
  print(`\ncopying a log of ${EVENTS} events, one in each append`)
  for (const [name, speed] of Object.entries(speeds)) print(`  ${name}: ${speed}`)
  await source.close()
  await client.dispose()
  await store.close()
  rmSync(directory, { recursive: true })
}

async function fillFolder(directory: string): Promise<void> {
  const store = await openEmbeddedStore({ directory, now: Date.now })
  const template = sampleVerdict(0, randomBytes, Date.now())
  for (let round = 0; round < EVENTS / 400; round++) {
    const expected = round === 0 ? 'no-stream' : round - 1
    await Promise.all(
      Array.from({ length: 400 }, (_, series) => {
        const event = { ...template, id: uuidV7(Date.now(), randomBytes(10)) }
        return store.append(`verdict-BINANCE.C${series}.1m`, [event], { expected })
      }),
    )
  }
  await store.close()
}

/** `tools/call` by key, its debit durable: a thousand accounts in turn. */
async function calls(url: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-esdb-'))
  const stores = {
    embedded: await openEmbeddedStore({ directory, now: Date.now }),
    EventStoreDB: openEventStoreDbStore({ connectionString: url }),
  }
  const opened = await Promise.all(
    Object.entries(stores).map(async ([name, store]) => {
      const counted = await openCountedCalls(store)
      const edge = await createMcpEdge({ calls: await counted.pathOf(1_000) })
      const target = { url: await listen(edge), headers: HEADERS, body: BODY, connections: CALLERS }
      const candidate = loadCandidate(name, { ...target, seconds: SECONDS })
      return { candidate, close: () => edge.close().then(() => counted.close()) }
    }),
  )
  const measured = await measure(
    opened.map(({ candidate }) => candidate),
    ROUNDS,
  )
  report(`tools/call by key, ${CALLERS} connections`, 'calls/s', measured, 'embedded', { EventStoreDB: 0.15 })
  for (const { close } of opened) await close()
  for (const store of Object.values(stores)) await store.close()
  rmSync(directory, { recursive: true })
}

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  authorization: 'Bearer sk_live_bench',
}
const BODY = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'get_trade_call', arguments: { coin: 'BTC' } },
})

/** One event into each of many streams, as debits and verdicts go. */
async function appends(url: string): Promise<void> {
  const store = openEventStoreDbStore({ connectionString: url })
  const client = EventStoreDBClient.connectionString(url)
  const { data } = sampleVerdict(0, randomBytes, Date.now())
  const send = (stream: string) =>
    client.appendToStream(stream, [jsonEvent({ type: 'VerdictRecorded', data: data as never })])
  const event = sampleVerdict(0, randomBytes, Date.now())
  const ways: Readonly<Record<string, (stream: string) => Promise<unknown>>> = {
    client: send,
    'this store': (stream) =>
      store.append(stream, [{ ...event, id: uuidV7(Date.now(), randomBytes(10)) }], {
        expected: 'no-stream',
      }),
  }
  const candidates = Object.entries(ways).map(
    ([name, append]): Candidate => ({
      name,
      async round() {
        const began = performance.now()
        let units = 0
        const caller = async (): Promise<void> => {
          for (; performance.now() - began < SECONDS * 1_000; units++) await append(`bench-${randomUUID()}`)
        }
        await Promise.all(Array.from({ length: CALLERS }, caller))
        return { units, milliseconds: performance.now() - began }
      },
    }),
  )
  const measured = await measure(candidates, ROUNDS)
  report(`one event into a stream of its own, ${CALLERS} callers`, 'appends/s', measured, 'client', {
    'this store': 0.2,
  })
  await store.close()
  await client.dispose()
}

async function fill(store: EventStore): Promise<void> {
  const template = sampleVerdict(0, randomBytes, Date.now())
  const run = randomUUID().slice(0, 8)
  for (let n = 0; n < EVENTS; n += PER_APPEND) {
    const coin = `C${run.toUpperCase()}${n / PER_APPEND}`
    const events = Array.from({ length: PER_APPEND }, (_, index) => {
      const id = uuidV7(Date.now(), randomBytes(10))
      const barClose = 1_699_999_980_000 + index * 60_000
      const previous = { barClose: barClose - 60_000, regime: 'RANGING' }
      return { ...template, id, data: { ...template.data, verdictId: id, coin, barClose, previous } }
    })
    await store.append(`verdict-BINANCE.${coin}.1m`, events, { expected: 'no-stream' })
  }
}

/** From the beginning to where all has been given. */
async function reading(url: string): Promise<void> {
  const store = openEventStoreDbStore({ connectionString: url })
  await fill(store)
  const client = EventStoreDBClient.connectionString(url)
  const following: Candidate = {
    name: 'this store',
    async round() {
      let units = 0
      const milliseconds = await timed(async () => {
        const { signal } = new AbortController()
        for await (const item of store.subscribe({ after: START, signal })) {
          if (item.kind === 'caught-up') break
          if (item.kind === 'event') units += 1
        }
      })
      return { units, milliseconds }
    },
  }
  const alone: Candidate = {
    name: 'client',
    async round() {
      let units = 0
      const milliseconds = await timed(async () => {
        const filter = streamNameFilter({ regex: '^[^$]', maxSearchWindow: 500 })
        const subscription = client.subscribeToAll({ fromPosition: 'start', filter })
        const caughtUp = new Promise((resolve) => subscription.once('caughtUp', resolve))
        subscription.on('data', () => {
          units += 1
        })
        await caughtUp
        await subscription.unsubscribe()
      })
      return { units, milliseconds }
    },
  }
  const measured = await measure([alone, following], ROUNDS)
  report('following the log from its beginning', 'events/s', measured, 'client', { 'this store': 0.7 })
  await store.close()
  await client.dispose()
}

/** Every read model of the service, from nothing. */
async function building(url: string): Promise<void> {
  const store = openEventStoreDbStore({ connectionString: url })
  await fill(store)
  const directory = mkdtempSync(join(tmpdir(), 'bench-models-'))
  let most = 0
  let longestMs = 0
  let last = performance.now()
  const looking = setInterval(() => {
    const now = performance.now()
    longestMs = Math.max(longestMs, now - last)
    last = now
    most = Math.max(most, process.memoryUsage.rss())
  }, 20)
  const tables = openRowTables(join(directory, 'projections.db'), 'bench')
  const milliseconds = await timed(async () => {
    const projector = startProjector({
      store,
      tables,
      projections: [...PROJECTIONS, payments, subscriptionsReadModel],
      sleep,
    })
    await projector.caughtUp()
    clearInterval(looking)
    await projector.close()
  })
  const seconds = (milliseconds / 1_000).toFixed(1)
  print(
    `\nbuilding ${PROJECTIONS.length + 1} read models: ${seconds} s, at most ${Math.round(most / 1e6)} MB resident (budget 450), longest block ${Math.round(longestMs)} ms`,
  )
  await store.close()
  rmSync(directory, { recursive: true })
}

if (EVENTSTORE_URL === undefined) print('EVENTSTORE_URL names no server: nothing is measured')
else {
  const wanted = process.argv.slice(2)
  for (const [name, part] of Object.entries(PARTS)) {
    if (wanted.length === 0 || wanted.includes(name)) await part(EVENTSTORE_URL)
  }
  process.exit(0)
}
