import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { EventStore } from '../event-store.ts'
import { repeatLostRaces } from '../execute-command.ts'
import { decideLease, isWorthSaying, withoutHolder } from './decide-lease.ts'
import { createIdleWatch } from './idle-watch.ts'
import { createLeaseLog, type LeaseTable, nextRevision } from './lease-log.ts'
import { createLeasedWork, type LeasedWork } from './leased-work.ts'
import type { Leases } from './leases.ts'

export interface LeasesOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly store: EventStore
  /** Name of the work that is shared. */
  readonly group: string
  /** How many shards it has; the same for all who share it. */
  readonly shards: number
  /** This process, and no other one, also not an earlier one. */
  readonly holder: string
  readonly newId: () => string
  /** Milliseconds of a clock that is never set: only how long something took matters here. */
  readonly elapsed: () => number
  /** Told of what kept a renewal from happening, and of work that would not begin or end. */
  readonly report: (error: unknown) => void
  readonly ttlMs?: number
  readonly renewMs?: number
  readonly graceMs?: number
  readonly idleMs?: number
}

/** Races lost in a row after which the next try waits for its turn. */
const MOST_RACES = 32
/** How soon a renewal that failed is tried again. */
const RETRY_MS = 250
/** How soon it is noticed that a machine was suspended, and what another process said. */
const LOOK_MS = 1_000

/** A deadline that has always passed. */
const NEVER = { elapsed: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY }

/**
 * Leases over a log that several processes write to. Nobody compares clocks: a holder stops `ttlMs` after it began its
 * newest renewal, and others take its shards after they saw none for `ttlMs` and a grace. The token, the revision of the
 * event that gained the shard, fences a process that was frozen.
 */
export function createLeases(options: LeasesOptions): Leases {
  const { group, shards, holder, elapsed, now, sleep, report } = options
  const { ttlMs = LIMITS.leaseTtlMs, renewMs = LIMITS.leaseRenewMs, graceMs = LIMITS.leaseGraceMs } = options
  const { idleMs = LIMITS.leaseIdleMs } = options
  const log = createLeaseLog(options)
  /** The newest renewal of each other holder, and when it counts as silent unless it renews. */
  let seen = new Map<string, { readonly renewedBy: number; readonly silentFrom: number }>()
  /** How far the table of leases was looked at. */
  let observedTo: LeaseTable['revision'] = 'no-stream'
  /** Whether somebody gave back all that it had since this process last said that it is there. */
  let hasSomebodyLeft = false
  let looking: Promise<void> | undefined
  /** Until when this process may go on without another renewal. */
  let deadline = NEVER
  let work: LeasedWork | undefined
  const watch = createIdleWatch((shard) => work?.isWorking(shard) === true, elapsed, idleMs)

  /** By both clocks: the one stands still while a process is suspended, and the other may be set back. */
  const leftMs = (): number => Math.min(deadline.elapsed - elapsed(), deadline.wall - now())
  const isInTime = (): boolean => leftMs() > 0

  const isSilent = ({ silentFrom }: { readonly silentFrom: number }): boolean => elapsed() >= silentFrom
  const silentOnes = (): string[] => [...seen].flatMap(([other, entry]) => (isSilent(entry) ? [other] : []))

  function observe({ revision, holders }: LeaseTable): void {
    if (nextRevision(revision) < nextRevision(observedTo)) return
    observedTo = revision
    const at = elapsed()
    const present: typeof seen = new Map()
    for (const { holder: other, renewedBy, ttlMs: theirs } of holders) {
      if (other === holder) continue
      const known = seen.get(other)
      const silentFrom = theirs === null ? at : at + theirs + graceMs
      present.set(other, known?.renewedBy === renewedBy ? known : { renewedBy, silentFrom })
    }
    hasSomebodyLeft ||= [...seen.keys()].some((other) => !present.has(other))
    seen = present
  }

  /** Looks what others say between the own renewals: the sooner one is seen, the sooner it is known to be silent. */
  function lookAtOthers(): void {
    // The next renewal reports a log that does not answer.
    looking ??= log
      .newest()
      .then(observe, () => undefined)
      .finally(() => {
        looking = undefined
      })
  }

  /** Says that this process is there, where that may get it anything. False where somebody else was quicker. */
  async function claim(doing: LeasedWork): Promise<boolean> {
    const before = await log.newest()
    observe(before)
    const silent = new Set(silentOnes())
    const own = sharesOf(before, holder)
    // What the log gives to others, or to nobody, is stopped; and is not claimed again before it has.
    doing.keepOnly(own)
    const revision = nextRevision(before.revision)
    // Nobody works on shards gained by an append whose answer was lost: they are given back, and gained again.
    const unheard = [...own.keys()].filter((shard) => !doing.isKnown(shard))
    const stopped = new Set([...doing.stopped(), ...unheard])
    const begun = { elapsed: elapsed(), wall: now() }
    const end = { elapsed: begun.elapsed + ttlMs, wall: begun.wall + ttlMs }
    if (!isWorthSaying(before.holders, { holder, shards, silent })) {
      deadline = end
      hasSomebodyLeft = false
      doing.forget(stopped)
      watch.assign([])
      return true
    }
    const decision = decideLease(before.holders, { holder, shards, ttlMs, revision, silent, stopped })
    if (!(await log.append('LeaseTaken', decision.table, before.revision))) return false
    deadline = end
    for (const other of silent) seen.delete(other)
    hasSomebodyLeft = false
    doing.forget(stopped)
    for (const lease of decision.gained) doing.start(lease)
    for (const shard of decision.surplus) doing.stop(shard)
    watch.assign([...sharesOf({ holders: decision.table }, holder).keys()])
    return true
  }

  /** Whether this process is known to be there for another while. */
  async function renew(doing: LeasedWork, signal: AbortSignal): Promise<boolean> {
    try {
      const attempt = async () => (await claim(doing)) || undefined
      if ((await repeatLostRaces({ sleep, signal }, attempt, MOST_RACES)) === true) return true
      report(
        new ServiceError('store_unavailable', {
          message: `Other processes renewed their leases of ${group} in front of each of ${MOST_RACES} tries`,
        }),
      )
    } catch (error) {
      report(error)
    }
    return false
  }

  /** How long to wait before the next renewal; a process that lost its shards by its own slowness does not. */
  function restAfter(hasRenewed: boolean): number {
    if (!hasRenewed) return isInTime() ? Math.min(RETRY_MS, renewMs, leftMs()) : RETRY_MS
    return isInTime() ? Math.min(renewMs, leftMs()) : 0
  }

  /** Whether there is something to take that was not there before. */
  const isToBeHad = (silentBefore: number): boolean => hasSomebodyLeft || silentOnes().length > silentBefore

  /**
   * Rests, but looks up now and then: after a machine was suspended the rest is over at once, and where another process
   * has left or fallen silent.
   */
  async function rest(milliseconds: number, signal: AbortSignal): Promise<void> {
    const until = elapsed() + milliseconds
    const wasInTime = isInTime()
    const silentBefore = silentOnes().length
    hasSomebodyLeft = false
    while (!signal.aborted && elapsed() < until && isInTime() === wasInTime && !isToBeHad(silentBefore)) {
      lookAtOthers()
      const ends = [...seen.values()].filter((entry) => !isSilent(entry)).map(({ silentFrom }) => silentFrom)
      await sleep(Math.min(LOOK_MS, Math.min(until, ...ends) - elapsed()), signal)
    }
  }

  /** Resolves when the time of this process is over. */
  async function timeUp(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && isInTime()) await sleep(Math.min(LOOK_MS, leftMs()), signal)
  }

  async function release(): Promise<void> {
    const { signal } = new AbortController()
    try {
      const attempt = async () => {
        const before = await log.newest()
        const table = withoutHolder(before.holders, holder)
        if (table.length === before.holders.length) return true
        return (await log.append('LeaseReleased', table, before.revision)) || undefined
      }
      await repeatLostRaces({ sleep, signal }, attempt, MOST_RACES)
    } catch (error) {
      // Nothing is lost: others take over when the time is over.
      report(error)
    }
  }

  return {
    async run(handlers, signal) {
      const doing = createLeasedWork(handlers, report)
      work = doing
      while (!signal.aborted) {
        const renewal = renew(doing, signal)
        const timing = new AbortController()
        await Promise.race([renewal, ...(isInTime() ? [timeUp(timing.signal)] : [])])
        if (!isInTime()) doing.stopAll()
        const hasRenewed = await renewal
        timing.abort()
        if (!isInTime()) doing.stopAll()
        await rest(restAfter(hasRenewed), signal)
      }
      doing.stopAll()
      await doing.settled()
      await release()
      deadline = NEVER
      watch.assign([])
    },
    held: () => (isInTime() ? (work?.held() ?? []) : []),
    idle: () => watch.idle(),
  }
}

const sharesOf = ({ holders }: Pick<LeaseTable, 'holders'>, holder: string): ReadonlyMap<number, number> =>
  new Map(
    holders.find((part) => part.holder === holder)?.shards.map(({ shard, token }) => [shard, token] as const),
  )
