import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ReplayWorker } from '../services/analyst/index.ts'
import type { ReplayFilter } from '../services/analyst/replay-filter.ts'
import { logFile, openEmbeddedStore } from '../services/log/embedded/embedded-store.ts'
import { growLog } from './support/grown-log.ts'
import { cpuMs, print, quantile, timed } from './support/measure.ts'

/**
 * Replays of a log as a service writes it over weeks: filters that few rows match, and rows per second of each format, in
 * time of the processor, since the log is long and the machine seldom quiet.
 *
 * node bench/growth.bench.ts       BENCH_EVENTS=200000 BENCH_ROUNDS=5 BENCH_LOG=FOLDER
 *
 * BENCH_LOG names a folder in which the log is made once and kept: 2,000,000 events take three minutes and 3.7 GB.
 *
 * Budget: 50 ms for 0 or few rows, whatever the log's length.
 */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 200_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const MOST_MS = 50
const DAY_MS = 86_400_000
const BAR_MS = 300_000

const kept = process.env.BENCH_LOG
const directory = kept ?? mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'bench-growth-'))
let end = Date.now() - BAR_MS
if (!existsSync(logFile(directory))) {
  let now = end
  const store = await openEmbeddedStore({ directory, now: () => now })
  const clock = (at: number): void => {
    now = at
  }
  const events = await growLog(store, { events: EVENTS, clock, end })
  await store.close()
  print(`${events.toLocaleString('en')} events were appended`)
}
const reading = await openEmbeddedStore({ directory, now: Date.now })
const head = Number(await reading.head())
for await (const event of reading.readAll({ after: String(Math.max(0, head - 10_000)) }))
  if (event.type === 'VerdictRecorded') end = Date.parse(event.at)

let worker = new ReplayWorker({ file: logFile(directory) })
const signal = new AbortController().signal
async function replayed(
  filter: ReplayFilter,
  format: 'ndjson' | 'csv' | 'parquet',
  limit: number,
): Promise<number> {
  const options = { filter, after: 'start', withOpen: false, limit }
  const { chunks } = worker.replay({ options, format, owner: 'bench', signal })
  let lines = 0
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk)
    for (let at = -1; (at = bytes.indexOf(10, at + 1)) !== -1; ) lines += 1
  }
  return lines
}

const bar = Math.floor((end - (head / 68_700 / 2) * DAY_MS) / BAR_MS) * BAR_MS
const FILTERS: Readonly<Record<string, ReplayFilter>> = {
  'a coin that is not there': { coins: ['NOSUCH'] },
  'a series that is not there': { exchanges: ['BINANCE'], coins: ['NOSUCH'], timeframes: ['1h'] },
  'one series by the day': { exchanges: ['BINANCE'], coins: ['DOGE'], timeframes: ['1d'] },
  'a time to come': { from: end + 365 * DAY_MS },
  'a time before the log': { to: 1 },
  'one bar of every series, half of the log ago': { from: bar, to: bar + 1 },
}
print(`\nfilters over ${head.toLocaleString('en')} events`)
for (const [name, filter] of Object.entries(FILTERS)) {
  const times: number[] = []
  let rows = await replayed(filter, 'ndjson', 1_000)
  for (let round = 0; round < ROUNDS; round++)
    times.push(
      await timed(async () => {
        rows = await replayed(filter, 'ndjson', 1_000)
      }),
    )
  times.sort((a, b) => a - b)
  const middle = quantile(times, 0.5)
  print(
    `  ${name.padEnd(46)} ${middle.toFixed(1).padStart(7)} ms  ${rows} rows  ${middle <= MOST_MS ? 'meets' : 'MISSES'} ${MOST_MS}`,
  )
}

const limit = Math.min(100_000, Math.floor(head / 4))
print(`\n${limit.toLocaleString('en')} verdicts with their outcomes`)
await worker.close()
worker = new ReplayWorker({ file: logFile(directory) })
for (const format of ['ndjson', 'csv', 'parquet'] as const) {
  const began = cpuMs()
  const milliseconds = await timed(async () => void (await replayed({}, format, limit)))
  const cpu = cpuMs() - began
  print(
    `  ${format.padEnd(46)} ${Math.round((limit / milliseconds) * 1_000).toLocaleString('en')} rows/s, ${((cpu * 1_000) / limit).toFixed(1)} µs of the processor each`,
  )
}
await worker.close()
await reading.close()
if (kept === undefined) rmSync(directory, { recursive: true, force: true })
