import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { BASE } from '../../contracts/domain/chain.ts'
import { reasonOf } from '../../contracts/errors/errors.ts'
import { signAuthorization } from '../../services/payments/testing/chain/sign-authorization.ts'
import { encoded, paymentV2 } from '../../services/payments/testing/sign-payment.ts'
import { answerHelp } from '../../testing/answer-help.ts'
import { type PaidChain, startPaidChain } from '../cluster/chain.ts'
import { createMember, type Member } from '../cluster/member.ts'
import { arrivalsOf } from './arrivals.ts'
import { type Endpoints, startEndpoints } from './endpoints.ts'
import type { Made, Order } from './generator.ts'

const HELP = `Sends requests to one process of the service on this machine, at rates that rise until it cannot keep up.

  npm run load -- --rate R [--seconds S] [--seed N]

  --rate R     requests a second at the start, 1 to 20000; the rate doubles until the process fails, then two rates between are tried
  --seconds S  how long each rate lasts, 5 to 60; 10 without it
  --seed N     draws the arrival times; 1 without it
  --help       this

Of 100 requests 60 are calls by key, 18 ask for a quote, 2 are paid, 10 list an account, 10 replay verdicts; webhooks go out
beside them. Arrivals are fixed beforehand and do not wait for answers; latency counts from when a request was to begin.
Ends with 0, with 1 where no rate could be measured, with 2 for arguments that are none.`

const TOKEN = 'operator-token-of-a-load'
/** A process keeps up with at most this share of failures and this latency at the 99th percentile. */
const [MOST_FAILED, MOST_P99_MS] = [0.001, 1_000]
/** A generator that is busier, or later, than this measures itself. */
const [MOST_CPU, MOST_LATE_MS] = [0.85, 25]
/** Share of a core, of all cores, above which there is nothing left of it. */
const BUSY = 0.9
const [KEYS, SUBSCRIPTIONS, MOST_RATE, LOOKS_BETWEEN] = [8, 50, 20_000, 2]
/** A call, millionths of a USDC. */
const PRICE = 20_000n
const PAID_SHARE = 0.02
const say = (line: string): void => void process.stdout.write(`${line}\n`)

function numberOf(name: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  throw new Error(`--${name} must be a whole number from ${least} to ${most}, not ${text}`)
}

async function post(url: string, key: string, body: object): Promise<Record<string, unknown>> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Record<string, unknown>
}

async function cpuSeconds(url: string): Promise<number> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(await answer.text())?.[1] ?? Number.NaN)
}

/** Seconds of all cores since they were started: idle, and all. */
function machineSeconds(): { readonly idle: number; readonly all: number } {
  const times = cpus().map((core) => core.times)
  const idle = times.reduce((sum, time) => sum + time.idle, 0)
  return {
    idle,
    all: times.reduce((sum, { user, nice, sys, idle: own, irq }) => sum + user + nice + sys + own + irq, 0),
  }
}

interface Step extends Made {
  /** Shares: of one core, and of all of them whoever had them. */
  readonly serviceCpu: number
  readonly machineCpu: number
  readonly deliveries: number
}

interface Ground {
  readonly member: Member
  readonly chain: PaidChain | undefined
  readonly endpoints: Endpoints
  readonly directory: string
  readonly keys: readonly string[]
  readonly seconds: number
  readonly seed: number
}

/** Signs as many payments as a step makes, before it begins. */
async function signed(chain: PaidChain | undefined, count: number): Promise<string[]> {
  if (chain === undefined) return []
  const validBefore = BigInt(Math.floor(Date.now() / 1_000) + 290)
  return Promise.all(
    Array.from({ length: count }, async () => {
      const { signature, ...given } = await signAuthorization(chain.payer, {
        payTo: chain.payTo,
        value: PRICE,
        validBefore,
      })
      return encoded(paymentV2({ ...given, on: BASE, rail: 'direct' }, signature))
    }),
  )
}

async function step(ground: Ground, rate: number): Promise<Step> {
  const { member, keys, seconds, seed, endpoints } = ground
  const payments = join(ground.directory, 'payments')
  const count = Math.ceil(arrivalsOf(rate, seconds, seed).length * PAID_SHARE) + 2
  writeFileSync(payments, (await signed(ground.chain, count)).join('\n'))
  const order: Order = { url: member.url, keys, payments, rate, seconds, seed }
  const [before, machine, came] = [await cpuSeconds(member.url), machineSeconds(), endpoints.count()]
  const began = performance.now()
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(import.meta.dirname, 'generator.ts'), JSON.stringify(order)],
    { maxBuffer: 1_048_576 },
  )
  const took = (performance.now() - began) / 1_000
  const after = machineSeconds()
  return {
    ...(JSON.parse(stdout) as Made),
    serviceCpu: ((await cpuSeconds(member.url)) - before) / took,
    machineCpu: 1 - (after.idle - machine.idle) / (after.all - machine.all),
    deliveries: (endpoints.count() - came) / took,
  }
}

/** Why a rate was not kept up with; undefined where it was. */
function breaks({ sent, failed, failures, open, p99 }: Made): string | undefined {
  if (open > 0) return `${open} requests were not answered`
  const which = Object.entries(failures).map(([what, count]) => `${count} of ${what}`)
  if (failed > sent * MOST_FAILED) return `${failed} of ${sent} requests failed (${which.join(', ')})`
  return p99 > MOST_P99_MS ? `p99 is ${p99.toFixed(0)} ms` : undefined
}

function bottleneck({ serviceCpu, machineCpu }: Step): string {
  if (serviceCpu > BUSY) return 'The processor of the service is the bottleneck.'
  if (machineCpu > BUSY)
    return 'All processors of this machine are busy, and the service has no core to itself: the machine is the bottleneck.'
  return 'Neither the processor of the service nor the machine is busy: it waits for the log.'
}

function tell(rate: number, made: Step): void {
  const times = [made.p50, made.p99, made.p999, made.p9999].map((ms) => ms.toFixed(1).padStart(9))
  const cores = [made.cpu, made.serviceCpu, made.machineCpu].map((share) =>
    `${(100 * share).toFixed(0)} %`.padStart(10),
  )
  const counts = [made.paid.toFixed(0), made.deliveries.toFixed(0)].map((text) => text.padStart(7))
  say(`${rate.toFixed(0).padStart(6)}${times.join('')}${cores.join('')}${counts.join('')}`)
}

/** Tries one rate. @returns undefined where the generator measured itself */
async function attempt(ground: Ground, rate: number): Promise<Step | undefined> {
  const made = await step(ground, rate)
  tell(rate, made)
  if (made.cpu <= MOST_CPU && made.lateP99 <= MOST_LATE_MS) return made
  say(
    `Void: the generator took ${(100 * made.cpu).toFixed(0)} % of a core and began ${made.lateP99.toFixed(1)} ms late.`,
  )
  return undefined
}

async function climb(ground: Ground, begin: number): Promise<number> {
  let [good, measuredRates] = [0, 0]
  let broken: { readonly rate: number; readonly made: Step } | undefined
  for (let rate = begin, looks = 0; looks <= LOOKS_BETWEEN && rate <= MOST_RATE; ) {
    const made = await attempt(ground, rate)
    if (made === undefined) break
    measuredRates += 1
    if (breaks(made) === undefined) good = Math.max(good, rate)
    else broken = { rate, made }
    looks += broken === undefined ? 0 : 1
    rate = broken === undefined ? rate * 2 : Math.round((good + broken.rate) / 2)
  }
  if (broken !== undefined)
    say(
      `It keeps up with ${good} requests a second, and breaks at ${broken.rate}: ${breaks(broken.made)}. ${bottleneck(broken.made)}`,
    )
  return measuredRates > 0 ? 0 : 1
}

async function run(rate: number, seconds: number, seed: number): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'load-'))
  const [chain, endpoints] = [await startPaidChain(), await startEndpoints()]
  const environment = {
    OPERATOR_TOKEN: TOKEN,
    COINS: 'BTC,ETH',
    TIMEFRAMES: '1m,1h',
    MARKET_SPEED: '60',
    FRESH: 'true',
    RATE_PER_ADDRESS: '1000000',
    RATE_PER_KEY: '1000000',
    TRUST_PROXY: '1',
    WEBHOOKS_ALLOW_PRIVATE: 'true',
    LOG_LEVEL: 'error',
    CONSOLE: 'off',
    ...(chain === undefined ? { X402_PAY_TO: `0x${'22'.repeat(20)}` } : chain.environment),
  }
  const roles = 'api,engine,projector,dispatcher,settler'
  const member = await createMember({ name: 'one', roles, directory, environment }, say)
  try {
    await member.start()
    const keys: string[] = []
    for (let index = 0; index < KEYS; index++)
      keys.push(String((await post(`${member.url}/operator/keys`, TOKEN, { tier: 'pro' }))['key']))
    for (let index = 0; index < SUBSCRIPTIONS; index++)
      await post(`${member.url}/api/webhooks`, keys[index % KEYS] ?? '', {
        url: `${endpoints.url}/${index}`,
        events: ['trade_call', 'regime_shift'],
      })
    if (chain === undefined) say('No payments: there is no program for a chain here.')
    say('rate/s   p50 ms   p99 ms  p99.9 ms  p99.99 ms  generator  service   machine   paid  webhooks/s')
    return await climb({ member, chain, endpoints, directory, keys, seconds, seed }, rate)
  } finally {
    await member.stop()
    await endpoints.close()
    await chain?.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

answerHelp(HELP)
try {
  const { values } = parseArgs({
    options: {
      rate: { type: 'string' },
      seconds: { type: 'string' },
      seed: { type: 'string' },
    },
  })
  if (values.rate === undefined) throw new Error('--rate is missing')
  const rate = numberOf('rate', values.rate, 1, MOST_RATE)
  const seconds = numberOf('seconds', values.seconds ?? '10', 5, 60)
  const seed = numberOf('seed', values.seed ?? '1', 0, 2 ** 32 - 1)
  process.exitCode = await run(rate, seconds, seed)
} catch (error) {
  process.stderr.write(`${reasonOf(error)}\n\n${HELP}\n`)
  process.exitCode = 2
}
