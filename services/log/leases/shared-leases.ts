import { assert } from '../../../contracts/errors/assert.ts'
import { decodeEventOf } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { type LeaseHolder, LeaseReleased, LeaseTaken } from '../../../contracts/events/lease-events.ts'
import { leaseStream } from '../../../contracts/events/streams.ts'
import type { Revision } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { RETRY_IN_BACKGROUND } from '../append-with-retry.ts'
import { type Decision, executeCommand } from '../command-handler.ts'
import type { EventStore } from '../event-store.ts'
import { decideLease, needsRenewal } from './decide-lease.ts'
import { createLeasedWork, type Lease, type LeasedWork, type LeaseHandlers } from './leased-work.ts'
import type { Leases } from './leases.ts'

/** Everybody's part of a group of work, and where the log says so. */
interface LeaseTable {
  readonly revision: Revision | 'no-stream'
  readonly holders: readonly LeaseHolder[]
}

/** A decided table to record, if any, and the result once it is durable. */
interface LeaseChange<Result> {
  readonly record?: { readonly type: 'LeaseTaken' | 'LeaseReleased'; readonly table: readonly LeaseHolder[] }
  readonly result: Result
}

const nextRevision = (revision: LeaseTable['revision']): Revision =>
  revision === 'no-stream' ? 0 : revision + 1

/**
 * Decides over the newest table of a group, again if another append was first; the newest event of its stream says
 * everything. Ends when the next renewal is due. @throws ServiceError of {@link executeCommand}
 */
async function changeLeases<Result>(
  { store, group, holder, newId, elapsed, sleep }: LeasesOptions,
  decide: (before: LeaseTable) => LeaseChange<Result>,
): Promise<Result> {
  const stream = leaseStream(group)
  const ending = new AbortController()
  const { signal } = ending
  void sleep(LIMITS.leaseRenewMs, signal).then(() => ending.abort())
  const path = { store, policy: RETRY_IN_BACKGROUND, now: elapsed, sleep, signal }

  async function load(): Promise<{ state: LeaseTable; revision: LeaseTable['revision'] }> {
    for await (const recorded of store.read(stream, { direction: 'backwards', limit: 1 })) {
      const { revision, data } = decodeEventOf(recorded, 'LeaseTaken', 'LeaseReleased')
      return { state: { revision, holders: data.table }, revision }
    }
    return { state: { revision: 'no-stream', holders: [] }, revision: 'no-stream' }
  }
  function decideEvent(before: LeaseTable): Decision<Result> {
    const { record, result } = decide(before)
    if (record === undefined) return { events: [], result }
    requireRisingTerms(before, record.table)
    const id = newId()
    const data = { group, holder, table: [...record.table] }
    const definition = record.type === 'LeaseTaken' ? LeaseTaken : LeaseReleased
    return {
      events: [newEvent(definition, { id, data, meta: { correlationId: id, actor: holder } })],
      result,
    }
  }
  const unknown = {
    what: `${holder} has renewed or given back its leases of ${group}`,
    again: 'The next renewal reads what became of it.',
  }
  try {
    return (await executeCommand(path, { stream, load, decide: decideEvent, unknown })).result
  } finally {
    ending.abort()
  }
}

/** A token is kept with its shard, or is the revision of the event that gives the shard to somebody else. */
function requireRisingTerms({ revision, holders }: LeaseTable, table: readonly LeaseHolder[]): void {
  const before = new Map(
    holders.flatMap(({ holder, shards }) => shards.map(({ shard, token }) => [shard, { holder, token }])),
  )
  for (const { holder, shards } of table) {
    for (const { shard, token } of shards) {
      const former = before.get(shard)
      const isKept = former?.holder === holder && former.token === token
      assert(isKept || token === nextRevision(revision), 'the term of a lease only rises', token)
    }
  }
}

export interface LeasesOptions extends Pick<Clock, 'now' | 'sleep' | 'elapsed'> {
  readonly store: EventStore
  readonly group: string
  /** This process, and no other one, also not an earlier one. */
  readonly holder: string
  readonly newId: () => string
  /** How many shards the work has; the same for all who share it. */
  readonly shards: number
  /** Called with what kept a renewal from happening, and with each failure to begin or end work. */
  readonly report: (error: unknown) => void
  readonly ttlMs?: number
  readonly renewMs?: number
  readonly graceMs?: number
}

/** How soon a renewal that failed is tried again. */
const RETRY_MS = 250
/** How soon a process notices that its machine was suspended. */
const CHECK_MS = 1_000

/** A deadline that has always passed. */
const NEVER = { elapsed: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY }

/**
 * Leases over a log that several processes write to. Nobody compares clocks: a holder stops `ttlMs` after it began its
 * newest renewal, and others take its shards after they saw none for `ttlMs` and a grace. The token, the revision of
 * the event that gained the shard, fences a process that was frozen.
 */
export class SharedLeases implements Leases {
  readonly #options: Required<LeasesOptions>
  /** The newest renewal of each other holder, and when it counts as silent unless it renews. */
  #seen = new Map<string, { readonly renewedBy: number; readonly silentFrom: number }>()
  /** Until when this process may go on without another renewal. */
  #deadline = NEVER
  #work: LeasedWork | undefined

  constructor(options: LeasesOptions) {
    const { leaseTtlMs: ttlMs, leaseRenewMs: renewMs, leaseGraceMs: graceMs } = LIMITS
    this.#options = { ttlMs, renewMs, graceMs, ...options }
  }

  async run(handlers: LeaseHandlers, signal: AbortSignal): Promise<void> {
    const work = createLeasedWork(handlers, this.#options.report)
    this.#work = work
    const ending = new AbortController()
    const watching = this.#stopInTime(work, ending.signal)
    while (!signal.aborted) {
      const hasRenewed = await this.#renew(work)
      await this.#options.sleep(this.#restMs(hasRenewed), signal)
    }
    ending.abort()
    await watching
    work.stopAll()
    await work.settled()
    await this.#release()
    this.#deadline = NEVER
  }

  held(): readonly Lease[] {
    return this.#leftMs() > 0 ? (this.#work?.held() ?? []) : []
  }

  /** By both clocks: one stands still while a process is suspended, and the other may be set back. */
  #leftMs(): number {
    const { elapsed, now } = this.#options
    return Math.min(this.#deadline.elapsed - elapsed(), this.#deadline.wall - now())
  }

  /** Stops the work when the time of this process is over, also while a renewal is not answered. */
  async #stopInTime(work: LeasedWork, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const leftMs = this.#leftMs()
      if (leftMs <= 0) work.stopAll()
      await this.#options.sleep(leftMs > 0 ? Math.min(CHECK_MS, leftMs) : CHECK_MS, signal)
    }
  }

  /** @returns false after a reported error */
  async #renew(work: LeasedWork): Promise<boolean> {
    let hasRenewed = true
    try {
      await this.#claim(work)
    } catch (error) {
      this.#options.report(error)
      hasRenewed = false
    }
    if (this.#leftMs() <= 0) work.stopAll()
    return hasRenewed
  }

  /** Until the next renewal: it comes sooner where another holder turns silent, and at once after a slow one. */
  #restMs(hasRenewed: boolean): number {
    const { renewMs, elapsed } = this.#options
    const leftMs = this.#leftMs()
    if (leftMs <= 0) return hasRenewed ? 0 : RETRY_MS
    if (!hasRenewed) return Math.min(RETRY_MS, renewMs, leftMs)
    const silences = [...this.#seen.values()].map(({ silentFrom }) => silentFrom - elapsed())
    return Math.min(renewMs, leftMs, ...silences.filter((ms) => ms > 0))
  }

  #observe({ holders }: LeaseTable): void {
    const { holder, elapsed, graceMs } = this.#options
    const before = this.#seen
    this.#seen = new Map()
    for (const { holder: other, renewedBy, ttlMs } of holders) {
      if (other === holder) continue
      const known = before.get(other)
      const silentFrom = elapsed() + (ttlMs === null ? 0 : ttlMs + graceMs)
      this.#seen.set(other, known?.renewedBy === renewedBy ? known : { renewedBy, silentFrom })
    }
  }

  /** Renews and takes free shards; appends nothing if that would change nothing. */
  async #claim(work: LeasedWork): Promise<void> {
    const { holder, shards, ttlMs, elapsed, now } = this.#options
    const settle = await changeLeases(this.#options, (before) => {
      this.#observe(before)
      const at = elapsed()
      const silent = new Set(
        [...this.#seen].flatMap(([other, { silentFrom }]) => (at >= silentFrom ? other : [])),
      )
      const own = before.holders.find((part) => part.holder === holder)?.shards ?? []
      // Work on shards that the log gives to others or to nobody stops, and only then is a shard claimed again.
      work.keepOnly(new Map(own.map(({ shard, token }) => [shard, token])))
      // Nobody works on shards gained by an append whose answer was lost: they are given back, and gained again.
      const unknown = own.flatMap(({ shard }) => (work.isKnown(shard) ? [] : shard))
      const stopped = new Set([...work.stopped(), ...unknown])
      const deadline = { elapsed: at + ttlMs, wall: now() + ttlMs }
      const settled = (): void => {
        this.#deadline = deadline
        work.forget(stopped)
      }
      if (!needsRenewal(before.holders, { holder, shards, silent })) return { result: settled }
      const revision = nextRevision(before.revision)
      const decision = decideLease(before.holders, { holder, shards, ttlMs, revision, silent, stopped })
      const taken = (): void => {
        settled()
        for (const other of silent) this.#seen.delete(other)
        for (const lease of decision.gained) work.start(lease)
        for (const shard of decision.surplus) work.stop(shard)
      }
      return { record: { type: 'LeaseTaken', table: decision.table }, result: taken }
    })
    settle()
  }

  async #release(): Promise<void> {
    try {
      await changeLeases<void>(this.#options, ({ holders }) => {
        const table = holders.filter(({ holder }) => holder !== this.#options.holder)
        if (table.length === holders.length) return { result: undefined }
        return { record: { type: 'LeaseReleased', table }, result: undefined }
      })
    } catch (error) {
      // Nothing is lost: others take over when the time is over.
      this.#options.report(error)
    }
  }
}
