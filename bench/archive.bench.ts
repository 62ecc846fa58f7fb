import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { latestVerdicts } from '../projections/index.ts'
import { ReplayWorker } from '../services/analyst/index.ts'
import { archiveLog, shrinkLog } from '../services/log/embedded/archive-log.ts'
import { logFile, openEmbeddedStore } from '../services/log/embedded/embedded-store.ts'
import { startProjector } from '../services/log/projector/projector.ts'
import { openRowTables } from '../services/log/projector/row-tables.ts'
import { sleep } from '../services/runtime/async/sleep.ts'
import { fillLog } from './support/filled-log.ts'
import { type Candidate, measure, print, quantile, report, timed } from './support/measure.ts'
import { sampleVerdict } from './support/sample-events.ts'

/**
 * A log of verdicts and their outcomes as it is and archived: its bytes, and how fast it is read: in order, by a read model
 * that is built anew, by a replay, and by a look at the newest of one series.
 *
 * node bench/archive.bench.ts      BENCH_EVENTS=300000 BENCH_ROUNDS=3
 */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 300_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const SERIES = 100

const directory = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'bench-archive-'))
const folders = { whole: join(directory, 'whole'), archived: join(directory, 'archived') }
const signal = new AbortController().signal
const ended = (): number => statSync(logFile(folders.archived)).size

const candidate = (name: string, work: () => Promise<number>): Candidate => ({
  name,
  async round() {
    let units = 0
    const milliseconds = await timed(async () => {
      units = await work()
    })
    return { units, milliseconds }
  },
})

let rebuilds = 0

async function candidatesOf(kind: keyof typeof folders) {
  const store = await openEmbeddedStore({ directory: folders[kind], now: Date.now })
  const worker = new ReplayWorker({ file: logFile(folders[kind]) })
  const inOrder = candidate(`${kind}: in order`, async () => {
    let count = 0
    for await (const _ of store.readAll()) count += 1
    return count
  })
  const rebuilt = candidate(`${kind}: latest_verdicts rebuilt`, async () => {
    const tables = openRowTables(join(directory, `projection-${++rebuilds}.db`), 'bench')
    const projector = startProjector({ store, tables, projections: [latestVerdicts], sleep })
    await projector.caughtUp()
    await projector.close()
    return EVENTS / 2
  })
  const replayed = candidate(`${kind}: replayed as CSV`, async () => {
    let rows = 0
    const options = { filter: {}, after: 'start', withOpen: true, limit: Infinity }
    const { chunks } = worker.replay({ options, format: 'csv', owner: 'bench', signal })
    for await (const chunk of chunks) {
      const bytes = Buffer.from(chunk)
      for (let at = -1; (at = bytes.indexOf(10, at + 1)) !== -1; ) rows += 1
    }
    return rows - 1
  })
  const looked = candidate(`${kind}: 50 of one series`, async () => {
    let count = 0
    for (let index = 0; index < SERIES; index++) {
      const from = Math.floor(((index + 1) / SERIES) * (EVENTS / (2 * SERIES) - 1))
      const stream = `verdict-BINANCE.C${index}.1m`
      for await (const _ of store.read(stream, { direction: 'backwards', from, limit: 50 })) count += 1
    }
    return count
  })
  const close = async (): Promise<void> => {
    await worker.close()
    await store.close()
  }
  return { inOrder, rebuilt, replayed, looked, close }
}

const filled = await openEmbeddedStore({ directory: folders.whole, now: Date.now })
await fillLog(filled, { events: EVENTS, series: SERIES })
await filled.close()
mkdirSync(folders.archived)
mkdirSync(join(folders.archived, 'archive'))
copyFileSync(logFile(folders.whole), logFile(folders.archived))
const before = ended()
const beside = await openEmbeddedStore({ directory: folders.archived, now: Date.now })
const waits: number[] = []
const done = new AbortController()
const appending = (async () => {
  while (!done.signal.aborted) {
    const event = sampleVerdict(0, randomBytes, Date.now())
    waits.push(await timed(async () => void (await beside.append('scan-a', [event], { expected: 'any' }))))
    await sleep(5, signal)
  }
})()
const took = await timed(async () => {
  const elapsed = (): number => performance.now()
  const onProgress = (): void => undefined
  const rest = (milliseconds: number): Promise<void> => sleep(milliseconds, signal)
  const result = await archiveLog({
    file: logFile(folders.archived),
    before: new Date(),
    signal,
    sleep: rest,
    elapsed,
    onProgress,
  })
  print(
    `${result.events.toLocaleString('en')} events of ${before.toLocaleString('en')} bytes became ${result.bytes.toLocaleString('en')} bytes of archive; ${result.freeBytes.toLocaleString('en')} of ${ended().toLocaleString('en')} bytes are free for what comes`,
  )
})
done.abort()
await appending
waits.sort((a, b) => a - b)
print(
  `archived in ${(took / 1_000).toFixed(1)} s; ${waits.length} appends beside it waited p50 ${quantile(waits, 0.5).toFixed(1)} ms, p99 ${quantile(waits, 0.99).toFixed(1)} ms (in the thread that archives)`,
)
await beside.close()
shrinkLog(logFile(folders.archived))
print(
  `${ended().toLocaleString('en')} bytes after --shrink; ${readdirSync(join(folders.archived, 'archive')).length} files`,
)

const [whole, archived] = [await candidatesOf('whole'), await candidatesOf('archived')]
for (const what of ['inOrder', 'rebuilt', 'replayed', 'looked'] as const) {
  const measured = await measure([whole[what], archived[what]], ROUNDS)
  report('read', 'events/s', measured, whole[what].name)
}
await whole.close()
await archived.close()
rmSync(directory, { recursive: true, force: true })
