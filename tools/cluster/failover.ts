import { reasonOf } from '../../contracts/errors.ts'
import type { ServiceEvent } from '../../contracts/event-catalogue.ts'
import { openEventStoreDbStore } from '../../services/platform/event-store/eventstoredb/eventstoredb-store.ts'
import { readLog } from './audit.ts'
import { missingServers, OPERATOR_TOKEN, startCluster } from './cluster.ts'
import { startLoad } from './load.ts'
import type { Member } from './member.ts'
import { noRecords } from './records.ts'
import { startDouble } from './store-under-test.ts'

/**
 * `npm run failover [-- rounds]`: kills and freezes those who engine, settle and dispatch, in turn, and measures how long it is until
 * another one has their leases, and until it does their work; over a double of the store, under a small load.
 */
const GROUPS = {
  engine: { members: ['engine1', 'engine2'], work: ['VerdictRecorded'] },
  dispatcher: { members: ['sender1', 'sender2'], work: ['DeliveriesAttempted'] },
  settler: { members: ['settler1', 'settler2'], work: ['SettlementRequested', 'SettlementBroadcast'] },
} as const
type Group = keyof typeof GROUPS
const ROLES = {
  api1: 'api,projector',
  engine1: 'engine',
  engine2: 'engine',
  sender1: 'dispatcher',
  sender2: 'dispatcher',
  settler1: 'settler',
  settler2: 'settler',
} as const
/** How long is watched, and how long everything may settle before the next. */
const [WATCHED_MS, SETTLE_MS] = [14_000, 3_000]
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

interface Strike {
  readonly group: Group
  readonly how: 'killed' | 'stands still'
  /** Unix milliseconds. */
  readonly at: number
}

/** One goes, is missed, and comes back. */
async function strike(group: Group, how: Strike['how'], member: Member): Promise<Strike> {
  const at = Date.now()
  if (how === 'killed') await member.kill()
  else member.freeze()
  await pause(WATCHED_MS)
  if (how === 'killed') await member.start()
  else member.thaw()
  return { group, how, at }
}

type LeaseEvent = Extract<ServiceEvent, { type: 'LeaseTaken' | 'LeaseReleased' }>
const isLease = (event: ServiceEvent): event is LeaseEvent =>
  event.type === 'LeaseTaken' || event.type === 'LeaseReleased'

/** Milliseconds from a strike until all that the struck one had is another's, and until work of that kind goes on. */
function measured(
  log: readonly ServiceEvent[],
  { group, at }: Strike,
): readonly [number, number] | undefined {
  const leases = log.filter(isLease).filter(({ data }) => data.group === group)
  const before = leases.findLast((event) => Date.parse(event.at) <= at)?.data.table ?? []
  const after = leases.filter((event) => Date.parse(event.at) > at)
  const gone = before.find(({ holder, shards }) => {
    const said = after.findIndex((event) => event.data.holder === holder)
    const left = after.findIndex(({ data }) => data.table.every((one) => one.holder !== holder))
    return shards.length > 0 && left >= 0 && (said < 0 || left < said)
  })
  if (gone === undefined) return undefined
  const had = new Set(gone.shards.map(({ shard }) => shard))
  const taken = after.find(({ data }) => {
    const others = data.table.filter(({ holder }) => holder !== gone.holder).flatMap(({ shards }) => shards)
    return [...had].every((shard) => others.some((one) => one.shard === shard))
  })
  if (taken === undefined) return undefined
  const work: readonly string[] = GROUPS[group].work
  const next = log.find((event) => work.includes(event.type) && Date.parse(event.at) >= Date.parse(taken.at))
  const takenMs = Date.parse(taken.at) - at
  return [takenMs, next === undefined ? Number.NaN : Date.parse(next.at) - at]
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

async function run(rounds: number): Promise<void> {
  if (missingServers !== undefined) throw new Error(`no cluster can be started:${missingServers}`)
  const closers: (() => Promise<void> | void)[] = []
  const store = await startDouble()
  const records = noRecords()
  const reading = openEventStoreDbStore({ connectionString: store.url })
  try {
    const cluster = await startCluster(
      { store, roles: ROLES },
      records,
      (close) => void closers.unshift(close),
    )
    const { members, receiver, chain } = cluster
    const load = await startLoad({
      members: members.filter(({ answersCallers }) => answersCallers),
      operatorToken: OPERATOR_TOKEN,
      receiver,
      records,
      chain,
      rate: 1,
      random: Math.random,
    })
    const named = (name: string): Member => members.find((member) => member.name === name) as Member
    const strikes: Strike[] = []
    for (let round = 0; round < rounds; round++) {
      await pause(SETTLE_MS)
      const how = round % 4 < 2 ? 'killed' : 'stands still'
      const groups = Object.keys(GROUPS) as Group[]
      strikes.push(
        ...(await Promise.all(
          groups.map((group) => strike(group, how, named(GROUPS[group].members[round % 2] ?? ''))),
        )),
      )
      process.stdout.write(`round ${round + 1} of ${rounds}\n`)
    }
    await load.stop()
    const log = await readLog(reading)
    for (const [what, of] of Map.groupBy(strikes, ({ group, how }) => `${group} ${how}`)) {
      const times = of.flatMap((one) => {
        const found = measured(log, one)
        return found === undefined ? [] : [found]
      })
      const told = (index: 0 | 1): string => {
        const values = times.map((one) => one[index]).filter((value) => !Number.isNaN(value))
        return `median ${(median(values) / 1_000).toFixed(1)} s, worst ${(Math.max(...values) / 1_000).toFixed(1)} s`
      }
      process.stdout.write(
        times.length === 0
          ? `${what}: had nothing to lose in ${of.length} times\n`
          : `${what}, ${times.length} times: another has its work: ${told(0)}; and does it: ${told(1)}\n`,
      )
    }
    for (const fault of records.faults) process.stdout.write(`wrong: ${fault}\n`)
  } finally {
    for (const close of closers) await close()
    await reading.close()
    store.stop()
  }
}

try {
  await run(Number(process.argv[2] ?? '4'))
  process.exit(0)
} catch (error) {
  process.stderr.write(`${reasonOf(error)}\n`)
  process.exit(1)
}
