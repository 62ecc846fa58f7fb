import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROJECTIONS, type Projection } from '../projections/index.ts'
import { openEmbeddedStore } from '../services/log/embedded/embedded-store.ts'
import type { EventStore } from '../services/log/event-store.ts'
import { startProjector } from '../services/log/projector/projector.ts'
import { openRowTables } from '../services/log/projector/row-tables.ts'
import { payments } from '../services/payments/payments-projection.ts'
import { transparencyTree } from '../services/proof/index.ts'
import { sleep } from '../services/runtime/async/sleep.ts'
import { createRandomPool } from '../services/runtime/ids/random-pool.ts'
import { uuidV7 } from '../services/runtime/ids/uuid.ts'
import { subscriptionsReadModel } from '../services/webhooks/index.ts'
import { type Candidate, measure, print, quantile, report, timed } from './support/measure.ts'
import { sampleVerdict } from './support/sample-events.ts'

/**
 * Durable appends per second: the embedded store beside the disk's own limit (the same bytes, one write and
 * one fdatasync per batch) and beside emmett-sqlite doing the same work.
 *
 * node bench/append.bench.ts          BENCH_ROUNDS=5 BENCH_ROUND_MS=1200
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 1_200)

const directory = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'bench-append-'))
const template = sampleVerdict(0, randomBytes, Date.now())
const random = createRandomPool(randomBytes)
/** A verdict like the last one under an id of its own: making events is not what is measured. */
const nextEvent = () => ({ ...template, id: uuidV7(Date.now(), random(10)) })

/** Callers that append as soon as their last append is answered, each to a stream of its own. */
async function runCallers(callers: number, append: (caller: number, n: number) => Promise<void>) {
  const latencies: number[] = []
  const start = performance.now()
  const deadline = start + ROUND_MS
  const caller = async (index: number): Promise<void> => {
    for (let n = 0; performance.now() < deadline; n++) {
      latencies.push(await timed(() => append(index, n)))
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, index) => caller(index)))
  return { latencies, units: latencies.length, milliseconds: performance.now() - start }
}

let round = 0
const latencyByName = new Map<string, number[]>()

function embedded(store: EventStore, callers: number): Candidate {
  const name = `embedded store, ${callers} callers`
  return {
    name,
    async round() {
      round += 1
      const run = await runCallers(callers, async (caller, n) => {
        const expected = n === 0 ? 'no-stream' : n - 1
        await store.append(`verdict-c${callers}.r${round}.s${caller}`, [nextEvent()], { expected })
      })
      latencyByName.set(name, run.latencies)
      return run
    },
  }
}

function disk(batch: number): Candidate {
  const file = openSync(join(directory, `raw-${batch}`), 'a')
  return {
    name: diskName(batch),
    async round() {
      const start = performance.now()
      let units = 0
      while (performance.now() - start < ROUND_MS) {
        const lines: string[] = []
        for (let n = 0; n < batch; n++) lines.push(JSON.stringify(nextEvent()))
        writeSync(file, lines.join('\n'))
        fdatasyncSync(file)
        units += batch
      }
      return { units, milliseconds: performance.now() - start }
    },
  }
}
const diskName = (batch: number): string => `write + fdatasync, ${batch} per sync`

const PEERS = join(import.meta.dirname, 'peers')
const emmett: Candidate = {
  name: 'emmett-sqlite, 1 caller',
  async round() {
    const args = [join(PEERS, 'emmett-appends.ts'), join(directory, 'emmett.db'), String(ROUND_MS)]
    // It fails now and then by itself; a round counts when it comes to its end.
    for (let tries = 0; tries < 5; tries++) {
      const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      if (status === 0) return JSON.parse(stdout) as { units: number; milliseconds: number }
    }
    throw new Error('emmett-sqlite failed five times in a row')
  },
}

const store = await openEmbeddedStore({ directory: join(directory, 'store'), now: Date.now })

print(
  `durable append of one verdict event (${JSON.stringify(nextEvent()).length} bytes), ${ROUNDS} rounds of ${ROUND_MS} ms, interleaved`,
)
function latencyOf(name: string): string {
  const sorted = (latencyByName.get(name) ?? []).toSorted((a, b) => a - b)
  return `p50 ${quantile(sorted, 0.5).toFixed(2)} ms, p99 ${quantile(sorted, 0.99).toFixed(2)} ms`
}

for (const callers of [1, 64, 512]) {
  const own = embedded(store, callers)
  const measured = await measure([disk(callers), own], ROUNDS)
  report(
    `${callers} callers`,
    'events/s',
    measured,
    diskName(callers),
    callers === 64 ? { [own.name]: 0.38 } : {},
  )
  print(`  latency of the embedded store: ${latencyOf(own.name)}`)
}
/** Beside a projector that folds what is appended, with the tree and without it, each into tables of its own. */
async function withReadModels(name: string, projections: readonly Projection[]) {
  const own = await openEmbeddedStore({ directory: join(directory, name), now: Date.now })
  const projector = startProjector({
    store: own,
    tables: openRowTables(join(directory, name, 'read-models.db'), 'bench'),
    projections,
    sleep,
  })
  await projector.caughtUp()
  const close = async (): Promise<void> => {
    await projector.close()
    await own.close()
  }
  return { ...embedded(own, 64), name, close }
}
const none = await withReadModels('no read model', [])
const withoutTree = await withReadModels('every read model but the tree', [
  ...PROJECTIONS,
  payments,
  subscriptionsReadModel,
])
const withTree = await withReadModels('every read model and the tree', [
  ...PROJECTIONS,
  payments,
  subscriptionsReadModel,
  transparencyTree,
])
const beside = await measure([none, withoutTree, withTree], ROUNDS)
report('what read models cost appends, 64 callers', 'events/s', beside, none.name, { [withTree.name]: 0.8 })
report('what the tree costs appends, 64 callers', 'events/s', beside, withoutTree.name, {
  [withTree.name]: 0.92,
})
await none.close()
await withoutTree.close()
await withTree.close()
if (existsSync(join(PEERS, 'node_modules'))) {
  const [one, many] = [embedded(store, 1), embedded(store, 64)]
  const measured = await measure([emmett, one, many], ROUNDS)
  report('beside emmett-sqlite, which takes one caller at a time', 'events/s', measured, emmett.name, {
    [many.name]: 40,
  })
} else {
  print('\nemmett-sqlite left out: run `npm ci --prefix bench/peers` first')
}
await store.close()
rmSync(directory, { recursive: true, force: true })
