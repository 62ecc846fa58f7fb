import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerHelp } from '../testing/answer-help.ts'
import { compareVerdicts } from './support/compare-verdicts.ts'
import { print, type ReportedRow } from './support/measure.ts'
import { writePage } from './support/write-page.ts'

answerHelp(`Runs the benchmarks one after the other, each on a quiet machine, within a quarter of an hour.

  npm run bench -- [--quick | --full] [--json FILE] [--page] [NAME …]

  NAME         only these benchmarks: NAME.bench.ts
  --quick      one short round of each, which measures nothing and shows that it runs to its end
  --full       as much work as each benchmark takes by itself, without an end
  --json FILE  where the rows go, besides the table; .cache/bench.json unless given. Rows of a run before that are
               in it are compared: which rows meet their floor in one of both only
  --page       writes the rows into docs/benchmarks.md, too; with every benchmark only`)

const QUICK = {
  BENCH_WARM_UP: 'off',
  BENCH_ROUNDS: '1',
  BENCH_ROUND_MS: '50',
  BENCH_SECONDS: '0.2',
  BENCH_EVENTS: '2000',
  BENCH_VERDICTS: '500',
  BENCH_FANOUT: '20',
  BENCH_SLOW_SECONDS: '1',
  BENCH_SUBSCRIPTIONS: '200',
  BENCH_CALLS: '50',
  BENCH_SERIES: '60',
  BENCH_PUSHES: '4000',
  BENCH_ENTRIES: '2000',
  BENCH_DELIVERIES: '200',
  BENCH_BEHIND: '2000',
  BENCH_SIGNALS: '40',
}
/** Five rounds of everything within a quarter of an hour on two cores. */
const STANDARD = {
  BENCH_ROUNDS: '5',
  BENCH_ROUND_MS: '400',
  BENCH_SECONDS: '0.5',
  BENCH_EVENTS: '40000',
  BENCH_VERDICTS: '30000',
  BENCH_FANOUT: '100,10000',
  BENCH_SLOW_SECONDS: '8',
  BENCH_SERIES: '20000',
  BENCH_DELIVERIES: '10000',
}
const QUICK_DEADLINE_MS = 60_000
const WHOLE_DEADLINE_MS = 900_000
/** The longest that one benchmark may take of it. */
const DEADLINE_MS = 120_000
const FULL_DEADLINE_MS = 3_600_000
const QUIET_WITHIN_MS = 15_000
/** Busy processors while a benchmark is to begin: less than half of one. */
const QUIET = 0.5

const args = process.argv.slice(2)
const has = (flag: string): boolean => args.includes(flag)
const named = args.indexOf('--json')
const jsonFile = resolve((named >= 0 ? args[named + 1] : undefined) ?? '.cache/bench.json')
const wanted = args.filter((name, at) => !name.startsWith('--') && args[at - 1] !== '--json')
const files = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.bench.ts'))
  .filter((file) => wanted.length === 0 || wanted.some((name) => file.startsWith(`${name}.`)))
if (files.length === 0) throw new Error(`no benchmark is called ${wanted.join(', ')}`)
if (has('--page') && wanted.length > 0)
  throw new Error('--page writes the rows of every benchmark: give no names')

/** How many processors were busy during a second. */
async function busyProcessors(): Promise<number> {
  const spent = (kind: (times: Readonly<Record<string, number>>) => number): number =>
    cpus().reduce((sum, { times }) => sum + kind(times), 0)
  const idleTime = () => spent(({ idle = 0 }) => idle)
  const allTime = () => spent((times) => Object.values(times).reduce((sum, time) => sum + time, 0))
  const [idle, all] = [idleTime(), allTime()]
  await sleep(1_000)
  return cpus().length * (1 - (idleTime() - idle) / Math.max(1, allTime() - all))
}

/** Waits for a quiet machine. Returns the busy processors when it stopped waiting. */
async function waitForQuiet(): Promise<number> {
  const until = performance.now() + QUIET_WITHIN_MS
  for (;;) {
    const busy = await busyProcessors()
    if (busy < QUIET || performance.now() > until) return busy
  }
}

/** The group of the benchmark that runs: a signal to this process would not reach it. */
let running: number | undefined
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    if (running !== undefined) process.kill(-running, 'SIGKILL')
    process.exit(1)
  })
}

/** Runs one benchmark and all that it starts. Returns why it failed, if it did. */
async function run(file: string, env: NodeJS.ProcessEnv, timeoutMs: number): Promise<string | undefined> {
  const child = spawn(process.execPath, [join(import.meta.dirname, file)], {
    stdio: 'inherit',
    env,
    detached: true,
  })
  running = child.pid
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }, timeoutMs)
  const status = await new Promise<number | null>((done) => {
    child.once('exit', done)
    child.once('error', () => done(null))
  })
  clearTimeout(timer)
  running = undefined
  if (isLate) return `not ended after ${Math.round(timeoutMs / 1_000)} s`
  return status === 0 ? undefined : `exit code ${status}`
}

const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`
print(`Node.js ${process.versions.node}, ${machine}`)
mkdirSync(dirname(jsonFile), { recursive: true })
const rowsFile = `${jsonFile}.rows`
rmSync(rowsFile, { force: true })
const began = performance.now()
let busiest = 0
for (const [done, file] of files.entries()) {
  print(`\n== ${file}`)
  const busy = has('--quick') ? 0 : await waitForQuiet()
  busiest = Math.max(busiest, busy)
  if (busy >= QUIET) print(`the machine is not quiet: ${busy.toFixed(1)} processors are busy with other work`)
  const left = WHOLE_DEADLINE_MS - (performance.now() - began)
  const share = Math.min(DEADLINE_MS, left - (files.length - done - 1) * 5_000)
  const timeout = has('--quick')
    ? QUICK_DEADLINE_MS
    : has('--full')
      ? FULL_DEADLINE_MS
      : Math.max(5_000, share)
  const sizes = has('--quick') ? QUICK : has('--full') ? {} : STANDARD
  const since = performance.now()
  const env = { ...sizes, ...process.env, BENCH_NAME: file.replace('.bench.ts', ''), BENCH_ROWS: rowsFile }
  const fault = await run(file, env, timeout)
  const seconds = ((performance.now() - since) / 1_000).toFixed(1)
  if (fault !== undefined) process.exitCode = 1
  print(
    fault === undefined ? `${file} ended after ${seconds} s` : `${file} failed after ${seconds} s: ${fault}`,
  )
}
writeResults()

function writeResults(): void {
  let rows: ReportedRow[] = []
  try {
    rows = readFileSync(rowsFile, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as ReportedRow)
  } catch {
    // No benchmark that compares was among those that ran.
  }
  rmSync(rowsFile, { force: true })
  const results = {
    date: new Date().toISOString(),
    node: process.versions.node,
    machine,
    is_quiet: !has('--quick') && busiest < QUIET,
    rows,
  }
  if (!has('--quick')) for (const line of compareVerdicts(rows, formerRows())) print(line)
  writeFileSync(jsonFile, `${JSON.stringify(results, undefined, 2)}\n`)
  print(`\n${rows.length} rows in ${jsonFile}`)
  if (has('--page')) writePage(results)
}

/** The rows of the run before, if it left any. */
function formerRows(): ReportedRow[] {
  try {
    return (JSON.parse(readFileSync(jsonFile, 'utf8')) as { rows: ReportedRow[] }).rows
  } catch {
    return []
  }
}
