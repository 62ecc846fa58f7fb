import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { START } from '../../contracts/position.ts'
import { isAwaited } from '../../projections/index.ts'
import { openEventStoreDbStore } from '../../services/platform/event-store/eventstoredb/eventstoredb-store.ts'
import { natsServers } from '../../services/platform/test-servers/nats-servers.ts'
import { redisServers } from '../../services/platform/test-servers/redis-servers.ts'
import { audit, missingDeliveries, paymentsIn, readLog } from './audit.ts'
import { startPaidChain } from './chain.ts'
import type { Fault, Ground } from './faults.ts'
import { type Line, startLine } from './line.ts'
import { startLoad } from './load.ts'
import { createMember, type Member } from './member.ts'
import { startReceiver } from './receiver.ts'
import { type CallSeen, noRecords, type Records } from './records.ts'
import type { StoreUnderTest } from './store-under-test.ts'

const OPERATOR_TOKEN = 'operator-token-of-a-cluster'

/** Four processes, in which every role is held twice. */
export const FOUR = {
  api1: 'api,projector',
  sender1: 'dispatcher,projector,api',
  engine1: 'engine,projector,api',
  engine2: 'engine,projector,api,dispatcher',
} as const

export const EIGHT = {
  api1: 'api,projector',
  api2: 'api,projector',
  engine1: 'engine,projector,api',
  engine2: 'engine,projector,api',
  sender1: 'dispatcher,projector,api',
  sender2: 'dispatcher,projector,api',
  settler1: 'settler,projector,api',
  settler2: 'settler,projector,api',
} as const

const nats = await natsServers({ killable: true })
const redis = await redisServers({ killable: true })
/** Why no cluster can be started here; undefined where one can. */
export const missingServers: string | undefined = nats.missing ?? redis.missing

export interface ClusterRun {
  /** What is wrong, in words; empty where all is as it must be. */
  readonly found: readonly string[]
  readonly lines: readonly string[]
}

/** How long what was recorded may take to reach every endpoint, and money to come, once nothing fails any more. */
const ARRIVAL_WITHIN_MS = 60_000
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Runs a cluster under load, lets faults happen to it one after the other, and compares the log with what callers and
 * endpoints saw.
 */
export async function runCluster(options: {
  readonly roles: Readonly<Record<string, string>>
  readonly store: StoreUnderTest
  readonly faults: Iterable<Fault>
  /** Whether each process speaks to its servers over lines that can be cut. */
  readonly isParted?: boolean
  /** Calls a second. */
  readonly rate: number
  /** Quiet time in front of each fault and behind the last, milliseconds. */
  readonly betweenMs: number
  readonly random: () => number
  readonly say: (line: string) => void
}): Promise<ClusterRun> {
  const { store, faults, say } = options
  const directory = mkdtempSync(join(tmpdir(), 'cluster-'))
  const records = noRecords()
  const [bus, cache] = await Promise.all([nats.start(), redis.start()])
  const receiver = await startReceiver(records)
  const isPaid = Object.values(options.roles).some((roles) => roles.includes('settler'))
  const chain = isPaid ? await startPaidChain() : undefined
  const members: Member[] = []
  const lines: string[] = []
  const ways = new Map<string, Line>()
  try {
    const environment = {
      SEALING_KEY: Buffer.alloc(32, 7).toString('base64'),
      OPERATOR_TOKEN,
      MARKET_SPEED: '60',
      COINS: 'BTC,ETH',
      TIMEFRAMES: '1m,5m,1h',
      WEBHOOKS_ALLOW_PRIVATE: 'true',
      RATE_PER_ADDRESS: '1000',
      RATE_PER_KEY: '1000',
      LOG_LEVEL: 'warn',
      CONSOLE: 'off',
      ...chain?.environment,
    }
    const wayTo = async (member: string, server: string, url: string): Promise<string> => {
      if (options.isParted !== true) return url
      const line = await startLine(url)
      ways.set(`${member} ${server}`, line)
      return line.url
    }
    for (const [name, roles] of Object.entries(options.roles)) {
      const servers = {
        EVENTSTORE_URL: await wayTo(name, 'store', store.url),
        NATS_URL: await wayTo(name, 'NATS', bus.url),
        REDIS_URL: await wayTo(name, 'Redis', cache.url),
      }
      const own = { name, roles, directory, environment: { ...environment, ...servers } }
      const member = await createMember(own, (what) => records.faults.push(what))
      members.push(member)
    }
    await Promise.all(members.map((member) => member.start()))
    const ground: Ground = { members, store, nats: bus, redis: cache, records, lines: ways }
    const load = await startLoad({
      ...options,
      members,
      chain,
      operatorToken: OPERATOR_TOKEN,
      receiver,
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
      await happen(ground)
      lines.push(`${name}: ${seenSince(records, began)}`)
    }
    await pause(options.betweenMs)
    await load.stop()
    const log = await settledLog(store, records)
    await load.readBack()
    records.received = await chain?.received()
    for (const member of members) {
      const { code } = await member.stop()
      if (code !== 0)
        records.faults.push(`${member.name} stopped with ${code}: ${member.output().slice(-500)}`)
    }
    lines.push(
      `${records.calls.length} calls, ${records.deliveries.length} deliveries, ${records.payments.length} payments, ${records.freshKeys.length} fresh keys, ${log.length} events`,
    )
    return { found: audit(log, records), lines }
  } finally {
    for (const member of members) await member.kill()
    for (const way of ways.values()) await way.close()
    await receiver.close()
    await chain?.stop()
    await Promise.all([bus.stop(), cache.stop()])
    rmSync(directory, { recursive: true, force: true })
  }
}

/** The log, once every endpoint has what was recorded before the load ended, and every payment has come. */
async function settledLog(store: StoreUnderTest, records: Records) {
  const reading = openEventStoreDbStore({ connectionString: store.url })
  try {
    const log = await readLog(reading)
    const until = performance.now() + ARRIVAL_WITHIN_MS
    while (missingDeliveries(log, records) > 0 && performance.now() < until) await pause(500)
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
