import { join } from 'node:path'
import type { BarBatch, ClosedBar } from '../contracts/domain/feed.ts'
import type { Series } from '../contracts/domain/series.ts'
import { timeframeMs } from '../contracts/domain/timeframes.ts'
import { WINDOW_BARS } from '../contracts/domain/verdict.ts'
import { verdictStream } from '../contracts/events/streams.ts'
import { LIMITS } from '../contracts/limits.ts'
import {
  createBoard,
  createOutcomeRecorder,
  createRecorder,
  loadModel,
  runEngine,
  SeriesEngine,
} from '../services/engine/index.ts'
import { openEmbeddedStore } from '../services/log/embedded/embedded-store.ts'
import type { EventStore } from '../services/log/event-store.ts'
import { sleep } from '../services/runtime/async/sleep.ts'
import { createFactIds } from '../services/runtime/ids/fact-id.ts'
import { randomWalk } from '../testing/random-walk.ts'
import { bytesInUse, print, quantile, timed } from './support/measure.ts'
import { openScratch } from './support/scratch.ts'

/**
 * A universe of series whose bars all close in the same second: how long until the last verdict is durable,
 * beside appending the same events that were made beforehand; and what the universe costs in memory.
 *
 * node bench/universe.bench.ts          BENCH_SERIES=60000 BENCH_ROUNDS=5 BENCH_WARM_BARS=120 BENCH_OUTCOMES=1
 *
 * Histories are shorter than those of a service, or warming up 60,000 series would take longer than all the rest:
 * a factor that needs a longer past is then missing from the verdicts, of both sides alike. Outcomes are labelled
 * with BENCH_OUTCOMES=1 only: the first ones come after as many closings as the longest window has bars.
 *
 * Budget: at least 0.4 of the appends alone.
 */
const SERIES = Number(process.env.BENCH_SERIES ?? 60_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const WARM_BARS = Number(process.env.BENCH_WARM_BARS ?? 120)
const HAS_OUTCOMES = process.env.BENCH_OUTCOMES === '1'
/** The timeframe of all series, since only those of one timeframe close together bar for bar. */
const TIMEFRAME = '1h'
Object.assign(LIMITS, { warmUpBars: WARM_BARS })
/** The first verdicts get their outcome so many bars later; from then on every bar brings both. */
const FIRST_OUTCOME_BARS = WINDOW_BARS[TIMEFRAME] + 1
const HISTORY_PROGRESS_BARS = 100

const bars = randomWalk(1, 8_192)
const universe: Series[] = Array.from({ length: SERIES }, (_, index) => ({
  exchange: 'SIM',
  coin: `C${index}`,
  timeframe: TIMEFRAME,
}))

/** Every series is at another place of the walk, so that they differ as in a real market. */
function barOf(index: number, step: number): ClosedBar {
  const [series, bar] = [universe[index], bars[(step + index * 97) % bars.length]]
  if (series === undefined || bar === undefined) throw new Error(`There is no series ${index}.`)
  return { series, candle: { ...bar, openTime: step * timeframeMs(TIMEFRAME) } }
}

const batch = (step: number, phase: BarBatch['phase']): BarBatch => ({
  at: (step + 1) * timeframeMs(TIMEFRAME),
  phase,
  bars: universe.map((_, index) => barOf(index, step)),
  funding: [],
})

interface Close {
  readonly milliseconds: number
  readonly hasOutcomes: boolean
}

const closes: Close[] = []
let durable = Promise.withResolvers<void>()

/** Hands over one closing of all bars at a time, and times it until everything of it is durable. */
async function* closings(): AsyncGenerator<BarBatch, void, void> {
  let step = 0
  for (; step < WARM_BARS; step++) {
    if (step % HISTORY_PROGRESS_BARS === 0) print(`  warming up: bar ${step} of ${WARM_BARS}`)
    yield batch(step, 'history')
  }
  yield { at: step * timeframeMs(TIMEFRAME), phase: 'live', bars: [], funding: [] }
  await durable.promise
  const count = ROUNDS + (HAS_OUTCOMES ? FIRST_OUTCOME_BARS : 1)
  for (const last = step + count; step < last; step++) {
    durable = Promise.withResolvers()
    const begun = performance.now()
    yield batch(step, 'live')
    await durable.promise
    const hasOutcomes = step - WARM_BARS >= FIRST_OUTCOME_BARS
    // The first one of all is that of a process which has not run any of this yet.
    if (step > WARM_BARS) closes.push({ milliseconds: performance.now() - begun, hasOutcomes })
  }
  bytesAtEnd = bytesInUse()
}

const scratch = await openScratch('universe')
const { directory, store } = scratch
const idOf = createFactIds(Buffer.alloc(32, 7))
const bytesBefore = bytesInUse()
let bytesAtEnd = bytesBefore
const recording = { store, idOf, sleep, signal: new AbortController().signal }
let appended = 0

await runEngine({
  engine: new SeriesEngine({ model: loadModel() }),
  recorder: createRecorder(recording),
  outcomes: createOutcomeRecorder(recording),
  board: createBoard(),
  series: universe,
  batches: closings(),
  onRecorded(verdicts) {
    appended += verdicts.length
    if (verdicts.length !== universe.length) throw new Error(`${verdicts.length} verdicts were recorded`)
    durable.resolve()
  },
})
const megabytes = (bytesAtEnd - bytesBefore) / 1e6

let copies = 0

/** The ceiling: the newest verdict of every series, appended again as it stands to streams of a new store. */
async function appendAgain(from: EventStore): Promise<number> {
  const folder = join(directory, `again-${++copies}`)
  const again = await openEmbeddedStore({ directory: folder, now: Date.now })
  const events = await Promise.all(
    universe.map(async (series) => {
      for await (const event of from.read(verdictStream(series), { direction: 'backwards', limit: 1 }))
        return event
      throw new Error('a series has no verdict')
    }),
  )
  const milliseconds = await timed(async () => {
    await inTurns(events, async ({ id, type, schema, data, meta, stream }) => {
      await again.append(stream, [{ id, type, schema, data, meta }], { expected: 'no-stream' })
    })
  })
  await again.close()
  return milliseconds
}

/** As many at a time as the store's queue takes without refusing. */
async function inTurns<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item)
  }
  await Promise.all(Array.from({ length: LIMITS.appendQueue / 2 }, worker))
}

await appendAgain(store)
const ceilings: number[] = []
for (let round = 0; round < ROUNDS; round++) ceilings.push(await appendAgain(store))
await scratch.close()

const seconds = (milliseconds: readonly number[]): string => {
  const sorted = milliseconds.toSorted((a, b) => a - b).map((each) => each / 1_000)
  const show = (value: number | undefined): string => (value ?? Number.NaN).toFixed(2)
  return `${show(quantile(sorted, 0.5))} s [${show(sorted[0])}–${show(sorted.at(-1))}]`
}
const times = (withOutcomes: boolean): number[] =>
  closes.filter(({ hasOutcomes }) => hasOutcomes === withOutcomes).map(({ milliseconds }) => milliseconds)
const grouped = SERIES.toLocaleString('en')
print(`\n${grouped} series close in the same second (${appended.toLocaleString('en')} verdicts recorded)`)
print(`  until the last verdict is durable                ${seconds(times(false))}`)
if (HAS_OUTCOMES) print(`  the same while as many outcomes are labelled     ${seconds(times(true))}`)
print(`  the same events, made beforehand, only appended  ${seconds(ceilings)}`)
// A closing and the appends that are set beside it are not of the same moment, so what the slowest and the fastest of
// both allow is said too.
const middle = (values: readonly number[]): number =>
  quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  )
const closing = times(false)
const ratio = middle(ceilings) / middle(closing)
const least = Math.min(...ceilings) / Math.max(...closing)
const most = Math.max(...ceilings) / Math.min(...closing)
print(
  `  share of the ceiling                             × ${ratio.toPrecision(3)} [${least.toPrecision(2)}–${most.toPrecision(2)}]  ${ratio >= 0.4 ? 'meets' : 'MISSES'} 0.4`,
)
print(
  `  memory of the universe: state, board, open races  ${Math.round(megabytes)} MB, ${((megabytes * 1e3) / SERIES).toFixed(1)} KB a series`,
)
