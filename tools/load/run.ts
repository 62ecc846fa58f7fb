import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { createMember, type Member } from '../cluster/member.ts'
import type { Made, Order } from './generator.ts'

const HELP = `Asks one process of the service at rates that rise until it does not keep up; on this machine, and no other.

  npm run load -- --rate R [--seconds S] [--seed N]

  --rate R     the highest rate that is tried, requests a second, 1 to 20000; an eighth of it comes first, and doubles
  --seconds S  how long each rate lasts, 5 to 60; 10 without it
  --seed N     draws the arrival times; 1 without it
  --help       this

Arrivals are fixed beforehand and do not wait for answers; latency counts from when a request was to begin.
Ends with 0, with 1 where no rate could be measured, with 2 for arguments that are none.`

const TOKEN = 'operator-token-of-a-load'
/** What counts as keeping up: this share of failures, and this latency at the 99th percentile. */
const [MOST_FAILED, MOST_P99_MS] = [0.001, 1_000]
/** A generator that is busier, or later, than this measures itself. */
const [MOST_CPU, MOST_LATE_MS] = [0.85, 25]
const KEYS = 8
const say = (line: string): void => void process.stdout.write(`${line}\n`)

function numberOf(name: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  throw new Error(`--${name} must be a whole number from ${least} to ${most}, not ${text}`)
}

async function newKey(url: string): Promise<string> {
  const answer = await fetch(`${url}/operator/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tier: 'pro' }),
  })
  return ((await answer.json()) as { readonly key: string }).key
}

async function cpuSeconds(url: string): Promise<number> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(await answer.text())?.[1] ?? Number.NaN)
}

async function step(member: Member, order: Order): Promise<Made & { readonly serviceCpu: number }> {
  const [before, began] = [await cpuSeconds(member.url), performance.now()]
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(import.meta.dirname, 'generator.ts'), JSON.stringify(order)],
    { maxBuffer: 1_048_576 },
  )
  const seconds = (performance.now() - began) / 1_000
  return { ...(JSON.parse(stdout) as Made), serviceCpu: ((await cpuSeconds(member.url)) - before) / seconds }
}

/** Why a rate was not kept up with; undefined where it was. */
function breaks({ sent, failed, open, p99 }: Made): string | undefined {
  if (open > 0) return `${open} requests were not answered`
  if (failed > sent * MOST_FAILED) return `${failed} of ${sent} requests failed`
  return p99 > MOST_P99_MS ? `p99 is ${p99.toFixed(0)} ms` : undefined
}

async function run(rate: number, seconds: number, seed: number): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'load-'))
  const environment = {
    OPERATOR_TOKEN: TOKEN,
    COINS: 'BTC,ETH',
    TIMEFRAMES: '1h',
    MARKET_SPEED: '60',
    RATE_PER_ADDRESS: '1000000',
    RATE_PER_KEY: '1000000',
    X402_PAY_TO: `0x${'22'.repeat(20)}`,
    LOG_LEVEL: 'error',
    CONSOLE: 'off',
  }
  const roles = 'api,engine,projector,dispatcher,settler'
  const member = await createMember({ name: 'one', roles, directory, environment }, say)
  let measured = 0
  try {
    await member.start()
    const keys = await Promise.all(Array.from({ length: KEYS }, () => newKey(member.url)))
    say('rate/s   p50 ms   p99 ms  p99.9 ms  p99.99 ms  generator  service  ')
    for (const tried of [rate / 8, rate / 4, rate / 2, rate]) {
      const made = await step(member, { url: member.url, keys, rate: tried, seconds, seed })
      const shown = [made.p50, made.p99, made.p999, made.p9999]
        .map((ms) => ms.toFixed(1).padStart(9))
        .join('')
      const cores = [made.cpu, made.serviceCpu]
        .map((share) => `${(100 * share).toFixed(0)} %`.padStart(9))
        .join('')
      say(`${tried.toFixed(0).padStart(6)}${shown}${cores}`)
      if (made.cpu > MOST_CPU || made.lateP99 > MOST_LATE_MS) {
        say(
          `Void: the generator took ${(100 * made.cpu).toFixed(0)} % of a core and began ${made.lateP99.toFixed(1)} ms late.`,
        )
        break
      }
      measured += 1
      const why = breaks(made)
      if (why === undefined) continue
      const isBusy = made.serviceCpu > 0.9
      say(
        `Breaks at ${tried.toFixed(0)} requests a second: ${why}. ${isBusy ? 'The processor of the service is the bottleneck.' : 'The processor of the service is not busy: it waits for the log, or for this machine.'}`,
      )
      break
    }
    return measured > 0 ? 0 : 1
  } finally {
    await member.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

try {
  const { values } = parseArgs({
    options: {
      rate: { type: 'string' },
      seconds: { type: 'string' },
      seed: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) say(HELP)
  else {
    if (values.rate === undefined) throw new Error('--rate is missing')
    const rate = numberOf('rate', values.rate, 1, 20_000)
    const seconds = numberOf('seconds', values.seconds ?? '10', 5, 60)
    const seed = numberOf('seed', values.seed ?? '1', 0, 2 ** 32 - 1)
    process.exitCode = await run(rate, seconds, seed)
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}\n`)
  process.exitCode = 2
}
