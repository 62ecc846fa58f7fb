import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { answerHelp } from '../testing/answer-help.ts'
import { print } from './support/measure.ts'

answerHelp(`Runs the benchmarks one after the other, each in a process of its own.

  npm run bench -- [--quick] [NAME …]

  NAME     only these benchmarks: NAME.bench.ts
  --quick  one short round of each, which measures nothing and shows that it runs to its end`)

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
const QUICK_DEADLINE_MS = 60_000
const DEADLINE_MS = 3_600_000

const args = process.argv.slice(2)
const isQuick = args.includes('--quick')
const wanted = args.filter((name) => name !== '--quick')
const files = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.bench.ts'))
  .filter((file) => wanted.length === 0 || wanted.some((name) => file.startsWith(`${name}.`)))
if (files.length === 0) throw new Error(`no benchmark is called ${wanted.join(', ')}`)

print(`Node.js ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown CPU'}`)
for (const file of files) {
  print(`\n== ${file}`)
  const timeout = isQuick ? QUICK_DEADLINE_MS : DEADLINE_MS
  const began = performance.now()
  const { status, error } = spawnSync(process.execPath, [join(import.meta.dirname, file)], {
    stdio: 'inherit',
    env: isQuick ? { ...QUICK, ...process.env } : process.env,
    timeout,
    killSignal: 'SIGKILL',
  })
  const seconds = (performance.now() - began) / 1_000
  if (status !== 0) {
    process.exitCode = 1
    print(`${file} failed after ${seconds.toFixed(1)} s: ${error?.message ?? `exit code ${status}`}`)
  } else if (isQuick) print(`${file} ended after ${seconds.toFixed(1)} s`)
}
