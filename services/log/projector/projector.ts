import { assert } from '../../../contracts/assert.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { RecordedEvent } from '../../../contracts/event.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { comparePositions, type Position, START } from '../../../contracts/position.ts'
import type { Projection } from '../../../projections/projection.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { SQLITE, sqliteCode } from '../../runtime/sqlite/result-code.ts'
import type { EventStore } from '../event-store.ts'
import { type Comparison, compareTables } from './compare-tables.ts'
import { type ChangedRows, foldBatch, type Poison } from './fold-batch.ts'
import { type Follower, LogPasses } from './log-passes.ts'
import type { Entry, EventMark, RangeOptions, RowTable, RowTables } from './row-tables.ts'
import type { VersionState } from './rows-file.ts'
import { keepRowsOfThisLog } from './rows-of-this-log.ts'

export interface ProjectionHealth {
  readonly name: string
  readonly version: number
  /**
   * `building` reads the past, `live` has caught up, `retrying` could not read or write just now, `stopped` met an event
   * it cannot fold, `withheld` differs from the version before although it must not.
   */
  readonly state: 'building' | 'live' | 'retrying' | 'stopped' | 'withheld'
  /** Up to where in the log the rows that answer reach. */
  readonly position: Position
  /** Whether it has caught up with the log once, in this process. */
  readonly hasBeenLive: boolean
  /** The version before it, where that one answers as it stood: this one was built up to `upTo`. */
  readonly former?: { readonly version: number; readonly upTo: Position } | undefined
  /** Times in this process that reading or writing failed and was begun again: what heals itself is seen by it. */
  readonly retries: number
  /** An event that the log had when rows were folded, and has no more: it was set back, and all is built anew. */
  readonly lostEvent?: EventMark | undefined
  /** Whether it stands still because its disk is full. */
  readonly isFull?: boolean
  readonly detail?: string
  /** How the version in service differed from the one it replaced, in this process. */
  readonly comparison?: Comparison
}

/** Answers queries from the active version of a projection. */
export interface ProjectionReader<Row extends JsonObject> {
  get(key: string): Row | undefined
  range(options: RangeOptions): Entry<Row>[]
  /** How far this one has come; the others are not looked at. */
  health(): ProjectionHealth
}

export interface Projector {
  health(): ProjectionHealth[]
  /** Its questions are refused with `store_unavailable` before there is a version that answers. */
  reader<Row extends JsonObject>(projection: Projection<Row>): ProjectionReader<Row>
  /** Resolves once every projection has a version that answers, however far behind the log, or has stopped. */
  inService(): Promise<void>
  /** Resolves once every projection has caught up with the log for the first time, or has stopped. */
  caughtUp(): Promise<void>
  close(): Promise<void>
}

export interface ProjectorOptions {
  readonly store: EventStore
  readonly tables: RowTables
  readonly projections: readonly Projection[]
  readonly onProblem?: (health: ProjectionHealth) => void
  /** Told of the newest event that rows followed from, where the log does not have it any more. */
  readonly onLost?: (event: EventMark) => void
  readonly onDamaged?: (what: string) => void
  /** Waits between tries after a failure that is not the fold's. */
  readonly sleep: Clock['sleep']
}

/** A read model that stands still keeps callers out: how soon it is tried again, the last from then on. */
const RETRY_MS = [100, 1_000, 2_500] as const
/** A problem that lasts is reported again about once a minute. */
const TRIES_PER_REMINDER = 24
/** Rows that wait to be written, since more hold callers up; and those that are kept in memory. */
const [MOST_ROWS, KNOWN_ROWS] = [2_000, 1_000]

/**
 * Keeps read models up with the log. Rows and checkpoint of a projection change in one transaction, so a
 * crash repeats or loses nothing. Both are written some time after they were folded, and a crash has a bounded stretch
 * read again. An event that cannot be folded stops its projection, and only that one.
 */
export function startProjector(options: ProjectorOptions): Projector {
  const ending = new AbortController()
  let lostEvent: EventMark | undefined
  const ofThisLog = askedOnce(async () => {
    lostEvent = await keepRowsOfThisLog(options)
    if (lostEvent !== undefined) options.onLost?.(lostEvent)
  }, true)
  const { store, tables, projections } = options
  const passes = new LogPasses(store, tables, projections, options.sleep)
  const head = askedOnce(() => store.head(), false)
  const parts = { ...options, ofThisLog, head, passes, lostEvent: () => lostEvent, signal: ending.signal }
  const runs = options.projections.map((projection) => new ProjectionRun(projection, parts))
  options.tables.onRemade((what, only) => {
    options.onDamaged?.(what)
    for (const run of runs) if (only === undefined || run.name === only.name) run.restart(only?.version)
  })
  return {
    health: () => runs.map((run) => run.health()),
    reader: <Row extends JsonObject>(projection: Projection<Row>): ProjectionReader<Row> => {
      const run = runs.find((candidate) => candidate.name === projection.name)
      if (run === undefined) throw new TypeError(`projection ${projection.name} is not run here`)
      return {
        get: (key) => run.get(key) as Row | undefined,
        range: (range) => run.range(range) as Entry<Row>[],
        health: () => run.health(),
      }
    },
    async inService() {
      await Promise.all(runs.map((run) => run.inService))
    },
    async caughtUp() {
      await Promise.all(runs.map((run) => run.caughtUp))
    },
    async close() {
      passes.flush()
      ending.abort()
      await Promise.all(runs.map((run) => run.done))
      options.tables.close()
    },
  }
}

/** The same answer for all who ask, or for those who ask at about the same time; a question that failed is asked anew. */
function askedOnce<Answer>(ask: () => Promise<Answer>, isKept: boolean): () => Promise<Answer> {
  let asking: Promise<Answer> | undefined
  const forget = (): void => {
    asking = undefined
  }
  return () => {
    if (asking === undefined) {
      asking = ask()
      asking.then(isKept ? undefined : forget, forget)
    }
    return asking
  }
}

interface ProjectionParts extends ProjectorOptions {
  /** Resolves once the rows in the tables are known to follow from this log. */
  readonly ofThisLog: () => Promise<void>
  readonly head: () => Promise<Position>
  readonly passes: LogPasses
  readonly lostEvent: () => EventMark | undefined
  readonly signal: AbortSignal
}

/** One projection: builds its rows, follows the log, and reports how it fares. */
class ProjectionRun implements Follower {
  readonly name: string
  readonly version: number
  readonly types: ReadonlySet<string>
  readonly done: Promise<void>
  readonly #projection: Projection
  readonly #parts: ProjectionParts
  readonly #answers = Promise.withResolvers<void>()
  readonly #caughtUp = Promise.withResolvers<void>()
  readonly caughtUp = this.#caughtUp.promise
  #status: Pick<ProjectionHealth, 'state' | 'detail' | 'isFull' | 'comparison'> = { state: 'building' }
  #hasBeenLive = false
  /** Tries in a row that failed for a reason that may pass. */
  #failures = 0
  #retries = 0
  #inService: VersionState | undefined
  /** Everything up to here is folded: every counted call reads it. */
  reached: Position = START
  /** The checkpoint in the file, and the newest event folded since it was written. */
  #stored: Position = START
  #newest: EventMark | undefined
  #poison: Poison | undefined
  #following = new AbortController()
  /** Rows as they are in the file, null where there is none: events that follow one another change the same few. */
  readonly #known = new RecentMap<string, JsonObject | null>(KNOWN_ROWS)
  /** Rows that changed since the checkpoint in the file. */
  #unwritten: ChangedRows = new Map()
  /** Whether its rows were lost with a damaged file, and are not whole yet. */
  #isRebuilt = false

  constructor(projection: Projection, parts: ProjectionParts) {
    this.#projection = projection
    this.#parts = parts
    this.name = projection.name
    this.version = projection.version
    this.types = new Set(projection.events)
    this.done = this.#run()
  }

  get inService(): Promise<void> {
    return Promise.race([this.#answers.promise, this.done])
  }

  health(): ProjectionHealth {
    const { version } = this.#projection
    const former = this.#inService?.version === version ? undefined : this.#inService
    return {
      name: this.name,
      version,
      position: former?.position ?? this.reached,
      hasBeenLive: this.#hasBeenLive,
      ...(former && { former: { version: former.version, upTo: this.reached } }),
      retries: this.#retries,
      lostEvent: this.#parts.lostEvent(),
      ...this.#status,
    }
  }

  /** Folds the log from its beginning, after all rows were lost, or those of one version. */
  restart(lost = this.#inService?.version): void {
    this.#forget()
    if (lost === this.#inService?.version) {
      this.#isRebuilt = true
      this.#hasBeenLive = false
      this.#inService = undefined
    }
    this.#status = { state: 'building', detail: 'its file was damaged; it is built anew' }
    this.#following.abort()
  }

  #forget(): void {
    this.#known.clear()
    this.#unwritten = new Map()
    this.#newest = undefined
  }

  #active(): RowTable {
    if (this.#isRebuilt)
      throw new ServiceError('store_unavailable', {
        message: `The read model ${this.name} is built anew, since its file was damaged.`,
      })
    if (this.#inService !== undefined) return this.#parts.tables.table(this.name, this.#inService.version)
    throw new ServiceError('store_unavailable', {
      message: `The read model ${this.name} was not opened yet.`,
    })
  }

  /** A row of the version in service. Most of those that are decided on were folded lately, and are at hand. */
  get(key: string): JsonObject | undefined {
    const isOwn = this.#inService?.version === this.#projection.version && !this.#isRebuilt
    if (isOwn && this.#unwritten.has(key)) return this.#unwritten.get(key)
    return (isOwn ? this.#known.get(key) : undefined) ?? this.#active().get(key)
  }

  /** Rows of the version in service, in order of keys: what was folded is written before. */
  range(options: RangeOptions): Entry[] {
    if (this.#inService?.version === this.version && this.#unwritten.size > 0) {
      try {
        this.write()
      } catch (cause) {
        const message = `The rows of the read model ${this.name} cannot be written: ${reasonOf(cause)}`
        throw new ServiceError('store_unavailable', { message, cause })
      }
      this.committed()
    }
    return this.#active().range(options)
  }

  async #run(): Promise<void> {
    const { signal, sleep } = this.#parts
    while (!signal.aborted) {
      const before = this.#stored
      this.#following = new AbortController()
      try {
        await this.#follow(AbortSignal.any([signal, this.#following.signal]))
        if (!this.#following.signal.aborted) break
      } catch (error) {
        // Not the fold's fault: the store or the disk. The checkpoint says where to go on.
        if (signal.aborted) break
        this.#retries += 1
        this.#problem('retrying', reasonOf(error), sqliteCode(error) === SQLITE.full)
        // A projection that advances at each try does not wait longer from try to try.
        if (this.#stored !== before) this.#failures = 0
        await sleep(RETRY_MS[Math.min(this.#failures++, RETRY_MS.length - 1)] ?? 2_500, signal)
      }
    }
    this.#caughtUp.resolve()
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { tables, passes, head, ofThisLog } = this.#parts
    await ofThisLog()
    const former = this.#former()
    if (this.#own() === undefined)
      tables.create(this.name, this.version, former === undefined ? 'active' : 'building')
    // No version that this one can answer from: it answers as far as it has come.
    if (former === undefined) tables.activate(this.name, this.version)
    this.#refreshInService()
    this.reached = this.#own()?.position ?? START
    if (!(await this.#replaceFormer(signal))) return
    if (!(await this.#catchUp(await head(), signal))) return
    this.#isRebuilt = false
    const { detail: _resolved, isFull: _room, ...rest } = this.#status
    this.#status = { ...rest, state: 'live' }
    this.#hasBeenLive = true
    this.#failures = 0
    this.#caughtUp.resolve()
    await passes.follow(this, signal)
  }

  /** Builds this version up to where the one in service stands, compares, and puts it in service. */
  async #replaceFormer(signal: AbortSignal): Promise<boolean> {
    const { tables } = this.#parts
    const { version, changes } = this.#projection
    const before = this.#former()
    if (before === undefined) return true
    if (!(await this.#catchUp(before.position, signal))) return false
    const comparison = await compareTables(
      tables.table(this.name, before.version),
      tables.table(this.name, version),
      signal,
    )
    this.#status = { ...this.#status, comparison }
    if (changes === 'nothing' && comparison.changed + comparison.added + comparison.removed > 0) {
      this.#problem(
        'withheld',
        `differs from version ${before.version}, which stays in service: ${comparison.sample.join(', ')}`,
      )
      return false
    }
    tables.activate(this.name, version)
    this.#refreshInService()
    return true
  }

  /** Folds the past, from the checkpoint to a position; false where the projection or the process ends. */
  async #catchUp(upTo: Position, signal: AbortSignal): Promise<boolean> {
    this.#stored = this.#own()?.position ?? START
    this.reached = this.#stored
    this.#forget()
    // A server that was asked may not have come so far yet.
    if (comparePositions(upTo, this.reached) <= 0) return true
    return this.#parts.passes.catchUp(this, upTo, signal)
  }

  fold(events: readonly RecordedEvent[], upTo: Position, isDue: boolean): boolean {
    // The others of a pass may be some way before it.
    if (comparePositions(upTo, this.reached) < 0) return false
    this.#requireNext(events, upTo)
    const table = this.#parts.tables.table(this.name, this.version)
    const [known, unwritten] = [this.#known, this.#unwritten]
    const before = (key: string): JsonObject | undefined => {
      if (unwritten.has(key)) return unwritten.get(key)
      let row = known.get(key)
      if (row === undefined) known.set(key, (row = table.get(key) ?? null))
      return row ?? undefined
    }
    const { changes, poison } = foldBatch(this.#projection, before, events)
    for (const [key, row] of changes) unwritten.set(key, row)
    this.#newest = events[(poison?.folded ?? events.length) - 1] ?? this.#newest
    this.reached = poison === undefined ? upTo : (events[poison.folded - 1]?.position ?? this.reached)
    this.#poison = poison
    return poison !== undefined || ((isDue || unwritten.size >= MOST_ROWS) && this.reached !== this.#stored)
  }

  write(): void {
    const table = this.#parts.tables.table(this.name, this.version)
    table.commit(this.#unwritten, this.#stored, this.reached, this.#newest)
  }

  committed(): boolean {
    // Most rows are not looked for soon: only those that somebody looked for stay.
    for (const [key, row] of this.#unwritten) if (this.#known.has(key)) this.#known.set(key, row ?? null)
    this.#unwritten = new Map()
    this.#newest = undefined
    this.#stored = this.reached
    if (this.#poison === undefined) return true
    const { position, reason } = this.#poison
    this.#problem('stopped', `cannot fold the event at position ${position}: ${reason}`)
    return false
  }

  #requireNext(events: readonly RecordedEvent[], upTo: Position): void {
    assert(events.length <= LIMITS.projectionBatchEvents, 'a batch is within its limit', events.length)
    let before = this.reached
    for (const { position } of events) {
      assert(
        comparePositions(position, before) > 0,
        'a fold sees each event once, in the order of the log',
        position,
      )
      before = position
    }
    assert(comparePositions(upTo, before) >= 0, 'a checkpoint is not before the events it covers', upTo)
  }

  #own(): VersionState | undefined {
    return this.#parts.tables.states(this.name).find(({ version }) => version === this.#projection.version)
  }

  /** The version that answers while this one is built: only the one before is known to have rows that this code reads. */
  #former(): VersionState | undefined {
    const { version, changes } = this.#projection
    if (changes === 'shape') return undefined
    return this.#parts.tables
      .states(this.name)
      .find((state) => state.role === 'active' && state.version === version - 1)
  }

  #refreshInService(): void {
    const active = this.#parts.tables.states(this.name).filter(({ role }) => role === 'active')
    assert(active.length <= 1, 'a read model has one version in service', active.length)
    this.#inService = active[0]
    if (this.#inService !== undefined) this.#answers.resolve()
  }

  #problem(state: ProjectionHealth['state'], detail: string, isFull = false): void {
    const isKnown = this.#status.state === state && this.#status.detail === detail
    this.#status = { ...this.#status, state, detail, isFull }
    if (!isKnown || this.#failures % TRIES_PER_REMINDER === 0) this.#parts.onProblem?.(this.health())
  }
}
