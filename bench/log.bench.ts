import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { NewEvent } from '../contracts/infra/event.ts'
import { latestVerdicts, type Projection, verdictIndex } from '../projections/index.ts'
import { followVerdicts, ReplayWorker } from '../services/analyst/index.ts'
import { createServer } from '../services/composition/server.ts'
import { readinessOf } from '../services/http/routes/health.ts'
import { NO_READ_MODELS } from '../services/http/testing/no-read-models.ts'
import { logFile, openEmbeddedStore } from '../services/log/embedded/embedded-store.ts'
import type { EventStore } from '../services/log/event-store.ts'
import { startProjector } from '../services/log/projector/projector.ts'
import { openRowTables } from '../services/log/projector/row-tables.ts'
import { transparencyTree } from '../services/proof/index.ts'
import { sleep } from '../services/runtime/async/sleep.ts'
import { timedUuidV8, uuidV7, uuidV8 } from '../services/runtime/ids/uuid.ts'
import { growLog } from './support/grown-log.ts'
import { type Candidate, measure, print, quantile, report, timed } from './support/measure.ts'
import { sampleVerdict } from './support/sample-events.ts'
import { openScratch } from './support/scratch.ts'

/**
 * Reading the log: by the port, by projections that are rebuilt, each beside the ceiling of reading the same rows from
 * SQLite and parsing their JSON; by replays over HTTP in every format, beside reading the same verdicts in process; and
 * how soon a subscriber hears of an append.
 *
 * node bench/log.bench.ts          BENCH_EVENTS=1000000 BENCH_ROUNDS=3 BENCH_IDS=random
 *
 * Budget: a replay as NDJSON over HTTP at least 25,000 rows/s.
 */
const IDS = process.env.BENCH_IDS ?? 'timed'
const EVENTS = Number(process.env.BENCH_EVENTS ?? 1_000_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const STREAMS = 100
const PER_APPEND = 200
/** Rows a second of a replay as NDJSON over HTTP. */
const LEAST_ROWS = 25_000

const scratch = await openScratch('log')
const { directory, store } = scratch

/** As verdicts have them: those of one bar have its time in front. Logs of old have ids in no order. */
const idOf = (bar: number): string =>
  IDS === 'random'
    ? uuidV8(randomBytes(16))
    : timedUuidV8(Date.UTC(2025, 0, 1) + bar * 60_000, randomBytes(10).toString('hex'))

async function fill(): Promise<void> {
  const template = sampleVerdict(0, randomBytes, Date.now())
  const one = (coin: number, bar: number): NewEvent => {
    const id = idOf(bar)
    return { ...template, id, data: { ...template.data, verdictId: id, coin: `C${coin}` } }
  }
  const fillStream = async (coin: number): Promise<void> => {
    for (let n = 0; n < EVENTS / STREAMS; n += PER_APPEND) {
      const events = Array.from({ length: Math.min(PER_APPEND, EVENTS / STREAMS - n) }, (_, index) =>
        one(coin, n + index),
      )
      const expected = n === 0 ? 'no-stream' : n - 1
      await store.append(`verdict-BINANCE.C${coin}.1m`, events, { expected })
    }
  }
  const milliseconds = await timed(async () => {
    await Promise.all(Array.from({ length: STREAMS }, (_, coin) => fillStream(coin)))
  })
  print(`filled ${EVENTS.toLocaleString('en')} verdict events in ${(milliseconds / 1_000).toFixed(1)} s`)
}

/** A candidate whose rounds are refused where they saw other than all. */
const checked = (name: string, round: Candidate['round'], all: number): Candidate => ({
  name,
  async round() {
    const seen = await round()
    if (seen.units !== all) throw new Error(`${name} saw ${seen.units} of ${all}`)
    return seen
  },
})

const counted = (name: string, work: () => Promise<number>, all = EVENTS): Candidate =>
  checked(
    name,
    async () => {
      let units = 0
      const milliseconds = await timed(async () => {
        units = await work()
      })
      return { units, milliseconds }
    },
    all,
  )

const CEILING = 'SQLite pages of 500 + JSON.parse(data)'

function ceiling(): Candidate {
  const db = new DatabaseSync(join(directory, 'events.db'), { readOnly: true })
  const page = db.prepare('SELECT position, data FROM event WHERE position > ? ORDER BY position LIMIT 500')
  return counted(CEILING, async () => {
    let count = 0
    for (let position = 0; ; ) {
      const rows = page.all(position) as { position: number; data: string }[]
      for (const row of rows) if (JSON.parse(row.data) !== null) count += 1
      const last = rows.at(-1)
      if (last === undefined) return count
      position = last.position
    }
  })
}

const port = counted('readAll through the port', async () => {
  let count = 0
  for await (const event of store.readAll()) if (event.data !== null) count += 1
  return count
})

let rebuilds = 0

/** A read model built anew, whose rows are counted afterwards. */
const rebuilding = (
  name: string,
  projection: Projection,
  countIn: (rows: Iterable<{ key: string; row: string }>) => number,
): Candidate => ({
  name,
  async round() {
    const file = join(directory, `projection-${++rebuilds}.db`)
    const tables = openRowTables(file, 'bench')
    const kept = { ...tables, close: () => undefined }
    const milliseconds = await timed(async () => {
      const projector = startProjector({ store, tables: kept, projections: [projection], sleep })
      await projector.caughtUp()
      await projector.close()
    })
    const units = countIn(tables.entries(projection.name))
    tables.close()
    for (const suffix of ['', '.lock']) rmSync(`${file}${suffix}`, { force: true })
    if (units !== EVENTS) throw new Error(`${name} folded ${units} of ${EVENTS} events`)
    return { units, milliseconds }
  },
})

const rebuild = rebuilding('latest_verdicts rebuilt', latestVerdicts, (rows) => {
  let recorded = 0
  for (const { row } of rows) recorded += (JSON.parse(row) as { recorded: number }).recorded
  return recorded
})

const rebuildIndex = rebuilding(`verdict_index rebuilt, ${IDS} ids`, verdictIndex, (rows) => {
  let count = 0
  for (const _ of rows) count += 1
  return count
})

const rebuildTree = rebuilding('transparency_tree rebuilt', transparencyTree, (rows) => {
  for (const { key, row } of rows) if (key === 'size') return (JSON.parse(row) as { size: number }).size
  return 0
})

const OPERATOR = 'operator-token-of-the-benchmark'

/**
 * Reads a replay to its end in a process of its own and prints how long that took and how many rows there were: lines of
 * text, and those that the last rows of other formats speak of, by what their readers find.
 */
const CLIENT = `
  const [url, encoding] = process.argv.slice(1)
  const start = performance.now()
  const response = await fetch(url, { headers: { authorization: 'Bearer ${OPERATOR}', 'accept-encoding': encoding } })
  if (!response.ok) throw new Error(await response.text())
  let rows = 0
  if (url.endsWith('parquet')) {
    const { parquetMetadata } = await import('hyparquet')
    rows = Number(parquetMetadata(await response.arrayBuffer()).num_rows)
  } else {
    for await (const chunk of response.body) for (let at = -1; (at = chunk.indexOf(10, at + 1)) !== -1; ) rows++
    if (url.endsWith('csv')) rows -= 1
  }
  process.stdout.write(JSON.stringify({ units: rows, milliseconds: performance.now() - start }))`

async function replayOver(url: string, encoding = 'identity') {
  const client = spawn(process.execPath, ['--input-type=module', '-e', CLIENT, url, encoding], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  client.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += String(chunk)
  })
  await once(client, 'exit')
  return JSON.parse(text) as { units: number; milliseconds: number }
}

async function serve(of: EventStore) {
  const app = await createServer({
    log: pino({ level: 'silent' }),
    metrics: new Registry(),
    version: 'bench',
    market: 'simulated',
    operatorToken: OPERATOR,
    newId: () => 'bench',
    readiness: async () => readinessOf([]),
    replay: replays.replay,
    follow: (options) => followVerdicts(of, { ...options, sleep }),
    ...NO_READ_MODELS,
    answerTool: async () => null,
  })
  return { app, url: `${await app.listen({ host: '127.0.0.1', port: 0 })}/api/verdicts` }
}

/** A log as a service writes it over days. */
async function grow(): Promise<EventStore> {
  let now = 0
  mkdirSync(grown)
  const long = await openEmbeddedStore({ directory: grown, now: () => now })
  const clock = (at: number): void => {
    now = at
  }
  await growLog(long, { events: EVENTS, clock, end: Date.now() })
  return long
}

async function verdictsRead(): Promise<number> {
  let count = 0
  for await (const { data } of grownStore.readAll({ filter: { types: ['VerdictRecorded'] } }))
    if (data !== null) count += 1
  return count
}

/** Time from an append's call until a subscriber in the same process has the event. */
async function latency(appends: number): Promise<number[]> {
  const ending = new AbortController()
  const called = new Map<string, number>()
  const waits: number[] = []
  const ready = Promise.withResolvers<void>()
  const done = (async () => {
    for await (const item of store.subscribe({ after: 'end', signal: ending.signal })) {
      if (item.kind === 'caught-up') ready.resolve()
      const start = item.kind === 'event' ? called.get(item.event.id) : undefined
      if (start !== undefined) waits.push(performance.now() - start)
      if (waits.length === appends) return
    }
  })()
  await ready.promise
  const template = sampleVerdict(0, randomBytes, Date.now())
  for (let n = 0; n < appends; n++) {
    const id = uuidV7(Date.now(), randomBytes(10))
    called.set(id, performance.now())
    const expected = n === 0 ? 'no-stream' : n - 1
    await store.append('verdict-BINANCE.LATENCY.1m', [{ ...template, id }], { expected })
    await sleep(1, ending.signal)
  }
  await done
  ending.abort()
  return waits.toSorted((a, b) => a - b)
}

await fill()
report(
  'reading the log',
  'events/s',
  await measure([ceiling(), port, rebuild, rebuildIndex], ROUNDS),
  CEILING,
  {
    [rebuild.name]: 0.5,
    [rebuildIndex.name]: 0.6,
  },
)
report(
  'the tree beside another read model',
  'events/s',
  await measure([rebuild, rebuildTree], ROUNDS),
  rebuild.name,
  { [rebuildTree.name]: 0.3 },
)

const grown = join(directory, 'grown')
const file = logFile(grown)
const grownStore = await grow()
const verdicts = await verdictsRead()
const replays = new ReplayWorker({ file })
const { app, url } = await serve(grownStore)
const inProcess = counted('the same verdicts read in process', verdictsRead, verdicts)
const over = (name: string, format: string, encoding?: string): Candidate =>
  checked(`${name} over HTTP`, () => replayOver(`${url}?format=${format}`, encoding), verdicts)
const replayed = [
  over('NDJSON', 'ndjson'),
  over('NDJSON, zstd', 'ndjson', 'zstd'),
  over('CSV', 'csv'),
  over('Parquet', 'parquet'),
]
const rates = await measure([inProcess, ...replayed], ROUNDS)
report('replay of verdicts with outcomes', 'rows/s', rates, inProcess.name)
print(`  NDJSON over HTTP ${(rates[1]?.median ?? 0) >= LEAST_ROWS ? 'meets' : 'MISSES'} ${LEAST_ROWS} rows/s`)
await app.close()
await replays.close()
await grownStore.close()

const waits = await latency(2_000)
print(
  `\nappend called → subscriber has it, idle: p50 ${quantile(waits, 0.5).toFixed(2)} ms, p99 ${quantile(waits, 0.99).toFixed(2)} ms`,
)
await scratch.close()
