import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { decideLease, isWorthSaying, withoutHolder } from './decide-lease.ts'
import { LeaseLog, type LeaseLogOptions, type LeaseTable, nextRevision } from './lease-log.ts'
import { createLeasedWork, type LeasedWork } from './leased-work.ts'
import type { Lease, Leases } from './leases.ts'

export interface LeasesOptions extends LeaseLogOptions, Pick<Clock, 'now'> {
  /** How many shards the work has; the same for all who share it. */
  readonly shards: number
  /** Told of what kept a renewal from happening, and of work that would not begin or end. */
  readonly report: (error: unknown) => void
  readonly ttlMs?: number
  readonly renewMs?: number
  readonly graceMs?: number
}

/** How soon a renewal that failed is tried again. */
const RETRY_MS = 250
/** How soon it is noticed that a machine was suspended, and what another process said. */
const LOOK_MS = 1_000

/** A deadline that has always passed. */
const NEVER = { elapsed: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY }

/**
 * Leases over a log that several processes write to. Nobody compares clocks: a holder stops `ttlMs` after it began its
 * newest renewal, and others take its shards after they saw none for `ttlMs` and a grace. The token, the revision of
 * the event that gained the shard, fences a process that was frozen.
 */
export class SharedLeases implements Leases {
  readonly #options: Required<LeasesOptions>
  readonly #log: LeaseLog
  /** The newest renewal of each other holder, and when it counts as silent unless it renews. */
  #seen = new Map<string, { readonly renewedBy: number; readonly silentFrom: number }>()
  /** How far the table of leases was looked at. */
  #observedTo: LeaseTable['revision'] = 'no-stream'
  /** Whether somebody gave back everything since this process last renewed. */
  #hasSomebodyLeft = false
  #looking: Promise<void> | undefined
  /** Until when this process may go on without another renewal. */
  #deadline = NEVER
  #work: LeasedWork | undefined

  constructor(options: LeasesOptions) {
    this.#options = {
      ttlMs: LIMITS.leaseTtlMs,
      renewMs: LIMITS.leaseRenewMs,
      graceMs: LIMITS.leaseGraceMs,
      ...options,
    }
    this.#log = new LeaseLog(options)
  }

  async run(handlers: Parameters<Leases['run']>[0], signal: AbortSignal): Promise<void> {
    const doing = createLeasedWork(handlers, this.#options.report)
    this.#work = doing
    while (!signal.aborted) {
      const renewal = this.#renew(doing)
      const timing = new AbortController()
      await Promise.race([renewal, ...(this.#isInTime() ? [this.#timeUp(timing.signal)] : [])])
      if (!this.#isInTime()) doing.stopAll()
      const hasRenewed = await renewal
      timing.abort()
      if (!this.#isInTime()) doing.stopAll()
      await this.#rest(this.#restAfter(hasRenewed), signal)
    }
    doing.stopAll()
    await doing.settled()
    await this.#release()
    this.#deadline = NEVER
  }

  held(): readonly Lease[] {
    return this.#isInTime() ? (this.#work?.held() ?? []) : []
  }

  /** By both clocks: the one stands still while a process is suspended, and the other may be set back. */
  #leftMs(): number {
    const { elapsed, now } = this.#options
    return Math.min(this.#deadline.elapsed - elapsed(), this.#deadline.wall - now())
  }

  #isInTime(): boolean {
    return this.#leftMs() > 0
  }

  #silentOnes(): string[] {
    const at = this.#options.elapsed()
    return [...this.#seen].flatMap(([other, { silentFrom }]) => (at >= silentFrom ? [other] : []))
  }

  #observe({ revision, holders }: LeaseTable): void {
    if (nextRevision(revision) < nextRevision(this.#observedTo)) return
    const { holder, elapsed, graceMs } = this.#options
    this.#observedTo = revision
    const at = elapsed()
    const before = this.#seen
    this.#seen = new Map()
    for (const { holder: other, renewedBy, ttlMs } of holders) {
      if (other === holder) continue
      const known = before.get(other)
      const silentFrom = ttlMs === null ? at : at + ttlMs + graceMs
      this.#seen.set(other, known?.renewedBy === renewedBy ? known : { renewedBy, silentFrom })
    }
    this.#hasSomebodyLeft ||= [...before.keys()].some((other) => !this.#seen.has(other))
  }

  /** Looks at the table between renewals: the sooner a renewal is seen, the sooner its holder is known to be silent. */
  #lookAtOthers(): void {
    if (this.#looking !== undefined) return
    // The next renewal reports a log that does not answer.
    this.#looking = this.#log
      .newest()
      .then(
        (table) => this.#observe(table),
        () => undefined,
      )
      .finally(() => {
        this.#looking = undefined
      })
  }

  /** Renews and takes free shards; appends nothing where that would change nothing. */
  async #claim(doing: LeasedWork): Promise<void> {
    const { holder, shards, ttlMs, elapsed, now } = this.#options
    const settle = await this.#log.change((before) => {
      this.#observe(before)
      const silent = new Set(this.#silentOnes())
      const own = sharesOf(before.holders, holder)
      // Work on shards that the log gives to others or to nobody stops, and only then is a shard claimed again.
      doing.keepOnly(own)
      // Nobody works on shards gained by an append whose answer was lost: they are given back, and gained again.
      const unknown = [...own.keys()].filter((shard) => !doing.isKnown(shard))
      const stopped = new Set([...doing.stopped(), ...unknown])
      const end = { elapsed: elapsed() + ttlMs, wall: now() + ttlMs }
      const settled = (): void => {
        this.#deadline = end
        this.#hasSomebodyLeft = false
        doing.forget(stopped)
      }
      if (!isWorthSaying(before.holders, { holder, shards, silent })) return { result: settled }
      const revision = nextRevision(before.revision)
      const decision = decideLease(before.holders, { holder, shards, ttlMs, revision, silent, stopped })
      const taken = (): void => {
        settled()
        for (const other of silent) this.#seen.delete(other)
        for (const lease of decision.gained) doing.start(lease)
        for (const shard of decision.surplus) doing.stop(shard)
      }
      return { record: { type: 'LeaseTaken', table: decision.table }, result: taken }
    })
    settle()
  }

  /** Renews the lease. @returns false after a reported error */
  async #renew(doing: LeasedWork): Promise<boolean> {
    try {
      await this.#claim(doing)
      return true
    } catch (error) {
      this.#options.report(error)
      return false
    }
  }

  /** How long to wait before the next renewal; a process that lost its shards by its own slowness does not. */
  #restAfter(hasRenewed: boolean): number {
    const { renewMs } = this.#options
    if (!hasRenewed) return this.#isInTime() ? Math.min(RETRY_MS, renewMs, this.#leftMs()) : RETRY_MS
    return this.#isInTime() ? Math.min(renewMs, this.#leftMs()) : 0
  }

  /** Rests, but no longer than until there is something to take, or the deadline is passed or renewed. */
  async #rest(milliseconds: number, signal: AbortSignal): Promise<void> {
    const { elapsed, sleep } = this.#options
    const until = elapsed() + milliseconds
    const wasInTime = this.#isInTime()
    const silentBefore = this.#silentOnes().length
    this.#hasSomebodyLeft = false
    while (!signal.aborted && elapsed() < until && this.#isInTime() === wasInTime) {
      if (this.#hasSomebodyLeft || this.#silentOnes().length > silentBefore) return
      this.#lookAtOthers()
      const ends = [...this.#seen.values()].flatMap(({ silentFrom }) =>
        silentFrom > elapsed() ? [silentFrom] : [],
      )
      await sleep(Math.min(LOOK_MS, Math.min(until, ...ends) - elapsed()), signal)
    }
  }

  /** Resolves when the time of this process is over. */
  async #timeUp(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#isInTime())
      await this.#options.sleep(Math.min(LOOK_MS, this.#leftMs()), signal)
  }

  async #release(): Promise<void> {
    try {
      await this.#log.change<void>(({ holders }) => {
        const table = withoutHolder(holders, this.#options.holder)
        if (table.length === holders.length) return { result: undefined }
        return { record: { type: 'LeaseReleased', table }, result: undefined }
      })
    } catch (error) {
      // Nothing is lost: others take over when the time is over.
      this.#options.report(error)
    }
  }
}

const sharesOf = (holders: LeaseTable['holders'], holder: string): ReadonlyMap<number, number> =>
  new Map(
    holders.find((part) => part.holder === holder)?.shards.map(({ shard, token }) => [shard, token] as const),
  )
