import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { reasonOf } from '../../contracts/errors/errors.ts'
import type { ServiceEvent } from '../../contracts/events/event-catalogue.ts'
import { START } from '../../contracts/infra/position.ts'
import { openEventStoreDbStore } from '../../services/log/eventstoredb/eventstoredb-store.ts'
import { isAwaited } from '../../services/payments/payment.ts'
import { natsServers } from '../../testing/servers/nats-servers.ts'
import { redisServers } from '../../testing/servers/redis-servers.ts'
import type { TestServer } from '../../testing/servers/test-server.ts'
import { audit, countMissing, paymentsIn, readLog } from './audit.ts'
import { type PaidChain, startPaidChain } from './chain.ts'
import type { Fault, Ground } from './faults.ts'
import { type Line, startLine } from './line.ts'
import { startLoad } from './load.ts'
import { createMember, type Member } from './member.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { type CallSeen, noRecords, type Records } from './records.ts'
import { recoveryTable, successesOf } from './recovery.ts'
import { heardOf, silences } from './silence.ts'
import type { StoreUnderTest } from './store-under-test.ts'

export const OPERATOR_TOKEN = 'operator-token-of-a-cluster'

/** Four processes, in which every role is held twice. */
export const FOUR = {
  api1: 'api,projector',
  sender1: 'dispatcher,projector,api,settler',
  engine1: 'engine,projector,api,settler',
  engine2: 'engine,projector,api,dispatcher',
} as const

/** Each role in processes of its own; who answers callers needs read models beside. */
export const EIGHT = {
  api1: 'api,projector',
  api2: 'api,projector',
  engine1: 'engine',
  engine2: 'engine',
  sender1: 'dispatcher',
  sender2: 'dispatcher',
  settler1: 'settler',
  settler2: 'settler',
} as const

const nats = await natsServers({ killable: true })
const redis = await redisServers({ killable: true })
/** Why no cluster can be started here; undefined where one can. */
export const missingServers: string | undefined = nats.missing ?? redis.missing

export interface ClusterRun {
  /** Findings, in words; empty where nothing is wrong. */
  readonly found: readonly string[]
  readonly lines: readonly string[]
  /** The log, and what each process wrote, to look for the cause of what was found. */
  readonly log: readonly ServiceEvent[]
  readonly outputs: ReadonlyMap<string, string>
}

/** How long what was recorded may take to reach every endpoint, and money to come, once nothing fails any more. */
const ARRIVAL_WITHIN_MS = 60_000
const SETTINGS = {
  SEALING_KEY: Buffer.alloc(32, 7).toString('base64'),
  OPERATOR_TOKEN,
  MARKET_SPEED: '60',
  FRESH: 'true',
  COINS: 'BTC,ETH',
  TIMEFRAMES: '1m,5m,1h',
  WEBHOOKS_ALLOW_PRIVATE: 'true',
  RATE_PER_ADDRESS: '1000',
  RATE_PER_KEY: '1000',
  LOG_LEVEL: 'warn',
  CONSOLE: 'off',
} as const

export interface ClusterOptions {
  readonly roles: Readonly<Record<string, string>>
  readonly store: StoreUnderTest
  readonly faults: Iterable<Fault>
  /** Whether each process speaks to its servers over lines that can be cut. */
  readonly isParted?: boolean
  /** Whether each process has a small disk of its own, where this user may mount one. */
  readonly hasOwnDisks?: boolean
  /** Breaks the run off: everything that was started ends, and what it had to say is lost. */
  readonly signal?: AbortSignal
  /** Calls a second. */
  readonly rate: number
  /** Quiet time in front of each fault and behind the last, milliseconds. */
  readonly betweenMs: number
  readonly random: () => number
  readonly say: (line: string) => void
  /** Settings beside those of every cluster. */
  readonly environment?: Readonly<Record<string, string>>
  /** Code that is loaded in front of a process, as a file: address, by the name of the process. */
  readonly preloads?: Readonly<Record<string, string>>
}

/**
 * Runs a cluster under load, lets faults happen to it one after the other, and compares the log with what callers and
 * endpoints saw.
 */
export async function runCluster(options: ClusterOptions): Promise<ClusterRun> {
  const closers: (() => Promise<void> | void)[] = []
  const { signal } = options
  const broken = new Promise<never>((_resolve, reject) => {
    const breakOff = (): void => reject(new Error('The run was broken off.'))
    if (signal?.aborted === true) breakOff()
    signal?.addEventListener('abort', breakOff)
  })
  const run = runAmong(options, (close) => void closers.unshift(close))
  // Where the run is broken off, nobody hears what it meets in what has ended.
  run.catch(() => undefined)
  try {
    return await Promise.race([run, broken])
  } finally {
    for (const close of closers) await close()
  }
}

async function runAmong(
  options: ClusterOptions,
  onClose: (close: () => Promise<void> | void) => void,
): Promise<ClusterRun> {
  const { store, faults, say } = options
  const records = noRecords()
  const cluster = await startCluster(options, records, onClose)
  const { members, chain } = cluster
  const lines: string[] = []
  const times: { readonly name: string; readonly began: number; readonly ended: number }[] = []
  const ground: Ground = { ...cluster, store, records }
  const load = await startLoad({
    ...options,
    members: members.filter(({ answersCallers }) => answersCallers),
    chain,
    operatorToken: OPERATOR_TOKEN,
    receiver: cluster.receiver,
    records,
  })
  for (const { name, happen } of faults) {
    if (happen === undefined) {
      lines.push(`${name}: not to be had here`)
      continue
    }
    await pause(options.betweenMs)
    const began = Date.now()
    say(`${new Date(began).toISOString()} ${name}`)
    // What a fault leaves broken is found, and the next one happens all the same.
    await happen(ground).catch((error: unknown) => records.faults.push(`${name}: ${reasonOf(error)}`))
    times.push({ name, began, ended: Date.now() })
    lines.push(`${name}: ${seenSince(records, began)}`)
  }
  await pause(options.betweenMs)
  const over = Date.now()
  await load.stop()
  const log = await settledLog(store, records)
  await load.readBack()
  records.received = await chain?.received()
  for (const member of members) {
    const { code } = await member.stop()
    if (code !== 0) records.faults.push(`${member.name} stopped with ${code}: ${member.output().slice(-500)}`)
  }
  lines.push(
    `${records.calls.length} calls, ${records.deliveries.length} deliveries, ${records.payments.length} payments, ${records.freshKeys.length} fresh keys, ${log.length} events`,
  )
  const stretches = times.map((time, index) => ({ ...time, until: times[index + 1]?.began ?? over }))
  lines.push(...recoveryTable(stretches, successesOf(log, records)))
  const outputs = new Map(members.map((member) => [member.name, member.output()]))
  const silent = silences(stretches, heardOf(log, records), over)
  return { found: [...audit(log, records), ...silent], lines, log, outputs }
}

/** Everything that a cluster consists of, but its store. */
export interface StartedCluster {
  readonly members: readonly Member[]
  readonly nats: TestServer
  readonly redis: TestServer
  readonly receiver: Receiver
  readonly chain: PaidChain | undefined
  readonly lines: ReadonlyMap<string, Line>
  /** Adds a process to those that run. */
  add(name: string, roles: string): Promise<Member>
}

/** Starts the servers and the processes. @param onClose takes what ends each of them, in the order of their start */
export async function startCluster(
  options: Pick<ClusterOptions, 'roles' | 'store' | 'isParted' | 'hasOwnDisks' | 'environment' | 'preloads'>,
  records: Records,
  onClose: (close: () => Promise<void> | void) => void,
): Promise<StartedCluster> {
  const { store, isParted = false, hasOwnDisks = false, preloads = {} } = options
  const directory = mkdtempSync(join(tmpdir(), 'cluster-'))
  onClose(() => rmSync(directory, { recursive: true, force: true }))
  const [bus, cache] = await Promise.all([nats.start(), redis.start()])
  onClose(() => Promise.all([bus.stop(), cache.stop()]).then(() => undefined))
  const receiver = await startReceiver(records)
  onClose(() => receiver.close())
  const isPaid = Object.values(options.roles).some((roles) => roles.includes('settler'))
  const chain = isPaid ? await startPaidChain() : undefined
  onClose(() => chain?.stop())
  const environment = { ...SETTINGS, ...chain?.environment, ...options.environment }
  const lines = new Map<string, Line>()
  const wayTo = async (member: string, server: string, url: string): Promise<string> => {
    // Nodes tell one another's addresses, past any line.
    if (!isParted || url.includes(',')) return url
    const line = await startLine(url)
    onClose(() => line.close())
    lines.set(`${member} ${server}`, line)
    return line.url
  }
  const members: Member[] = []
  async function create(name: string, roles: string): Promise<Member> {
    const servers = {
      EVENTSTORE_URL: await wayTo(name, 'store', store.url),
      NATS_URL: await wayTo(name, 'NATS', bus.url),
      REDIS_URL: await wayTo(name, 'Redis', cache.url),
    }
    const preload = preloads[name]
    const own = {
      name,
      roles,
      directory,
      hasOwnDisk: hasOwnDisks,
      environment: { ...environment, ...servers },
    }
    const member = await createMember({ ...own, ...(preload !== undefined && { preload }) }, (what) =>
      records.faults.push(what),
    )
    onClose(() => member.leave())
    members.push(member)
    return member
  }
  const created: Member[] = []
  for (const [name, roles] of Object.entries(options.roles)) created.push(await create(name, roles))
  await Promise.all(created.map((member) => member.start()))
  return {
    members,
    nats: bus,
    redis: cache,
    receiver,
    chain,
    lines,
    async add(name, roles) {
      const member = await create(name, roles)
      await member.start()
      return member
    },
  }
}

/** The log, once every endpoint has what was recorded before the load ended, and every payment has come. */
async function settledLog(store: StoreUnderTest, records: Records) {
  const reading = openEventStoreDbStore({ connectionString: store.url })
  try {
    const log = await readLog(reading)
    const until = performance.now() + ARRIVAL_WITHIN_MS
    const missing = countMissing(log, records)
    while (missing() > 0 && performance.now() < until) await pause(500)
    const behind = { after: log.at(-1)?.position ?? START, filter: { streamPrefixes: ['payment-'] } }
    for (;;) {
      const whole = [...log, ...(await readLog(reading, behind))]
      if (![...paymentsIn(whole).values()].some(isAwaited) || performance.now() >= until) return whole
      await pause(1_000)
    }
  } finally {
    await reading.close()
  }
}

/** How callers fared since an instant: how many were refused with what, and the longest time without an answer. */
function seenSince({ calls }: Records, since: number): string {
  const seen = calls.filter(({ at, code }) => at >= since && code !== 'quota_exhausted')
  const refused = seen.filter(({ isOk }) => !isOk)
  const codes = [...Map.groupBy(refused, ({ code }) => code)].map(([code, of]) => `${of.length} ${code}`)
  const why = codes.length === 0 ? '' : ` (${codes.join(', ')})`
  const gap = Math.round(longestGap(seen, since))
  return `${refused.length} of ${seen.length} calls refused${why}; at most ${gap} ms without an answer`
}

function longestGap(seen: readonly CallSeen[], since: number): number {
  const answered = seen
    .flatMap(({ at, tookMs, isOk }) => (isOk ? [at + tookMs] : []))
    .toSorted((a, b) => a - b)
  return [...answered, Date.now()].reduce(
    ({ longest, last }, at) => ({ longest: Math.max(longest, at - last), last: at }),
    { longest: 0, last: since },
  ).longest
}
