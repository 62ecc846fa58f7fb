import type { ServiceEvent } from '../../contracts/events/event-catalogue.ts'
import { shardOf } from '../../services/webhooks/dispatch/dispatcher.ts'
import { dueOf } from './audit.ts'
import type { Records } from './records.ts'

/** Work that is shared by leases, and the events that say that it is done; what dispatchers do is seen by endpoints. */
const WORK = {
  engine: ['VerdictRecorded'],
  dispatcher: undefined,
  settler: ['SettlementRequested', 'SettlementBroadcast'],
} as const satisfies Record<string, readonly ServiceEvent['type'][] | undefined>
export type Group = keyof typeof WORK

/** One process is gone, or stands still, from an instant on. */
export interface Strike {
  readonly group: Group
  readonly how: 'killed' | 'stands still'
  /** Unix milliseconds. */
  readonly at: number
}

/** Milliseconds from a strike on. */
export interface Recovered {
  /** Until all that the struck one had is another's. */
  readonly takenMs: number
  /** Until the first of its work is done by another; undefined where there was none to do. */
  readonly worksMs: number | undefined
  /** Until all that had come due since the strike was done: of deliveries only. */
  readonly caughtUpMs: number | undefined
}

type Leases = Extract<ServiceEvent, { type: 'LeaseTaken' | 'LeaseReleased' }>
type Table = Leases['data']['table']
const isLease = (event: ServiceEvent): event is Leases =>
  event.type === 'LeaseTaken' || event.type === 'LeaseReleased'

/** How one strike was recovered from; undefined where the struck one had nothing to lose, or nobody took it. */
export function recovered(
  log: readonly ServiceEvent[],
  { group, at }: Strike,
  records: Pick<Records, 'deliveries' | 'subscriptions'>,
): Recovered | undefined {
  const leases = log.filter(isLease).filter(({ data }) => data.group === group)
  const before = leases.findLast((event) => Date.parse(event.at) <= at)?.data.table ?? []
  const after = leases.filter((event) => Date.parse(event.at) > at)
  const gone = before.find((part) => part.shards.length > 0 && isDropped(part.holder, after))
  if (gone === undefined) return undefined
  const lost = new Set(gone.shards.map(({ shard }) => shard))
  const taken = after.find(({ data }) => isWith(data.table, lost, gone.holder))
  if (taken === undefined) return undefined
  const takenMs = Date.parse(taken.at) - at
  const work: readonly string[] | undefined = WORK[group]
  if (work === undefined) {
    const shards = before.flatMap((part) => part.shards).length
    const isLost = (accountId: string): boolean => lost.has(shardOf(accountId, shards))
    return { takenMs, ...deliveredLate(log, { from: at, until: at + takenMs }, isLost, records) }
  }
  const next = log.find((event) => work.includes(event.type) && Date.parse(event.at) >= Date.parse(taken.at))
  return { takenMs, worksMs: next && Date.parse(next.at) - at, caughtUpMs: undefined }
}

/** Whether a holder is left out of a table before it says anything itself again. */
function isDropped(holder: string, after: readonly Leases[]): boolean {
  const said = after.findIndex((event) => event.data.holder === holder)
  const left = after.findIndex(({ data }) => data.table.every((one) => one.holder !== holder))
  return left >= 0 && (said < 0 || left < said)
}

const isWith = (table: Table, shards: ReadonlySet<number>, not: string): boolean => {
  const others = table.filter(({ holder }) => holder !== not).flatMap((part) => part.shards)
  return [...shards].every((shard) => others.some((one) => one.shard === shard))
}

/** When what came due on some shards within a stretch arrived, milliseconds from its beginning: the first, and the last. */
function deliveredLate(
  log: readonly ServiceEvent[],
  { from, until }: { readonly from: number; readonly until: number },
  isOn: (accountId: string) => boolean,
  { deliveries, subscriptions }: Pick<Records, 'deliveries' | 'subscriptions'>,
): Pick<Recovered, 'worksMs' | 'caughtUpMs'> {
  const recordedAt = new Map(
    log.flatMap((event) => (event.type === 'VerdictRecorded' ? [[event.data.verdictId, event.at]] : [])),
  )
  const arrivedAt = new Map<string, number>()
  for (const { path, sequence, at } of deliveries) {
    const key = `${path} ${sequence}`
    if (!arrivedAt.has(key)) arrivedAt.set(key, at)
  }
  const waits = subscriptions
    .filter(({ accountId }) => isOn(accountId))
    .flatMap((subscription) =>
      dueOf(log, subscription).flatMap(({ verdictId }, index) => {
        const at = Date.parse(recordedAt.get(verdictId) ?? '')
        const arrived = arrivedAt.get(`${subscription.path} ${index + 1}`)
        return at > from && at < until && arrived !== undefined && arrived >= until ? [arrived - from] : []
      }),
    )
  if (waits.length === 0) return { worksMs: undefined, caughtUpMs: undefined }
  return { worksMs: Math.min(...waits), caughtUpMs: Math.max(...waits) }
}

const seconds = (values: readonly (number | undefined)[]): string => {
  const known = values.filter((value) => value !== undefined).toSorted((a, b) => a - b)
  const median = known[Math.floor(known.length / 2)]
  const told = (ms: number): string => (ms / 1_000).toFixed(1)
  return median === undefined ? '–' : `${told(median)}, ${told(known.at(-1) ?? 0)} (${known.length})`
}

/** The measurements as a table: seconds, median and worst, and their number. */
export function failoverTable(measured: readonly (Strike & Partial<Recovered>)[]): string[] {
  const rows = [...Map.groupBy(measured, ({ group, how }) => `${group} ${how}`)].map(([what, of]) => {
    const cells = (['takenMs', 'worksMs', 'caughtUpMs'] as const).map((name) =>
      seconds(of.map((one) => one[name])),
    )
    return `| ${[what, ...cells].join(' | ')} |`
  })
  return [
    '| what | another has its work | and does it | and has caught up |',
    '| --- | --- | --- | --- |',
    ...rows,
  ]
}
