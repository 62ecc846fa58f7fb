import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { EventPlace } from '../../../contracts/event.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { inFrontOf, type Position, START } from '../../../contracts/position.ts'
import type { Projection, Rows } from '../../../projections/projection.ts'
import { batchesOf } from '../../runtime/async/batches.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { SQLITE, sqliteCode } from '../../runtime/sqlite/result-code.ts'
import type { EventStore } from '../event-store.ts'
import { type Comparison, compareTables } from './compare-tables.ts'
import { dataSource, type ProjectionSource, placeSource } from './projection-source.ts'
import type { Entry, EventMark, RangeOptions, RowTables } from './row-tables.ts'

export interface ProjectionHealth {
  readonly name: string
  readonly version: number
  /**
   * `building` reads the past, `live` has caught up, `retrying` could not read or write just now,
   * `stopped` met an event it cannot fold, `withheld` differs from the version before although it must not;
   * that version then answers as it stood.
   */
  readonly state: 'building' | 'live' | 'retrying' | 'stopped' | 'withheld'
  readonly position: Position
  /** Whether it has caught up with the log once, in this process. */
  readonly hasBeenLive: boolean
  /** Whether a version before it answers meanwhile, as it stood. */
  readonly hasFormer: boolean
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
  /** Waits between tries after a failure that is not the fold's. */
  readonly sleep: Clock['sleep']
}

/** A read model that stands still keeps callers out: how soon it is tried again, the last from then on. */
const RETRY_MS = [100, 1_000, 2_500] as const
/** A problem that lasts is reported again about once a minute. */
const TRIES_PER_REMINDER = 24

/**
 * Keeps read models up with the log. Rows and checkpoint of a projection change in one transaction, so a
 * crash repeats or loses nothing. An event that cannot be folded stops its projection, and only that one.
 */
export function startProjector(options: ProjectorOptions): Projector {
  const ending = new AbortController()
  const { store, projections } = options
  let lostEvent: EventMark | undefined
  const ofThisLog = askedOnce(async () => {
    lostEvent = await keepRowsOfThisLog(options)
    if (lostEvent !== undefined) options.onLost?.(lostEvent)
  })
  const parts = { ...options, ofThisLog, lostEvent: () => lostEvent }
  const runs = projections.map((projection) =>
    projection.needs === 'places'
      ? runProjection(projection, placeSource(store, projection), parts, ending.signal)
      : runProjection(projection, dataSource(store, projection), parts, ending.signal),
  )
  return {
    health: () => runs.map((run) => run.health()),
    reader: <Row extends JsonObject>(projection: Projection<Row>): ProjectionReader<Row> => {
      const run = runs.find((candidate) => candidate.name === projection.name)
      if (run === undefined) throw new TypeError(`projection ${projection.name} is not run here`)
      return {
        get: (key) => run.active().get(key) as Row | undefined,
        range: (range) => run.active().range(range) as Entry<Row>[],
        health: run.health,
      }
    },
    async inService() {
      await Promise.all(runs.map((run) => run.inService))
    },
    async caughtUp() {
      await Promise.all(runs.map((run) => run.caughtUp))
    },
    async close() {
      ending.abort()
      await Promise.all(runs.map((run) => run.done))
      options.tables.close()
    },
  }
}

/**
 * Rows of a log that was restored from an older copy since they were folded are dropped: what they follow from is gone.
 *
 * @returns the event that is missed, where that is so
 */
async function keepRowsOfThisLog({ store, tables }: ProjectorOptions): Promise<EventMark | undefined> {
  const newest = tables.newest()
  // Without one, nothing was folded, or by a release that did not write it down.
  if (newest !== undefined && (await isStillThere(store, newest))) {
    tables.standOnNewest()
    return undefined
  }
  tables.empty()
  return newest
}

async function isStillThere(store: EventStore, { id, position }: EventMark): Promise<boolean> {
  try {
    for await (const event of store.readAll({ after: inFrontOf(position), limit: 1 })) return event.id === id
    return false
  } catch (error) {
    // The position is none of this log.
    if (isServiceError(error, 'invalid_request')) return false
    throw error
  }
}

/** The same answer for all who ask; a question that failed is asked anew. */
function askedOnce(ask: () => Promise<void>): () => Promise<void> {
  let asking: Promise<void> | undefined
  return () => {
    asking ??= ask().catch((error: unknown) => {
      asking = undefined
      throw error
    })
    return asking
  }
}

interface ProjectionParts extends ProjectorOptions {
  /** Resolves once what is in the tables is known to follow from this log. */
  readonly ofThisLog: () => Promise<void>
  readonly lostEvent: () => EventMark | undefined
}

function runProjection<Event extends EventPlace>(
  projection: Projection,
  source: ProjectionSource<Event>,
  options: ProjectionParts,
  signal: AbortSignal,
) {
  const { store, tables } = options
  const { name, version } = projection
  const filter = { types: projection.events }
  let status: Pick<ProjectionHealth, 'state' | 'detail' | 'isFull' | 'comparison'> = { state: 'building' }
  let hasBeenLive = false
  const caughtUp = Promise.withResolvers<void>()
  /** Tries in a row that failed for a reason that may pass. */
  let failures = 0
  let retries = 0

  let inService: number | undefined
  const answers = Promise.withResolvers<void>()
  const refreshInService = (): void => {
    inService = tables.states(name).find((state) => state.role === 'active')?.version
    if (inService !== undefined) answers.resolve()
  }
  const own = () => tables.states(name).find((state) => state.version === version)
  const former = () =>
    tables.states(name).find((state) => state.role === 'active' && state.version !== version)
  /** The last committed position of this version: every counted call reads it. */
  let reached: Position = START
  const health = (): ProjectionHealth => {
    const hasFormer = inService !== undefined && inService !== version
    return {
      name,
      version,
      position: reached,
      hasBeenLive,
      hasFormer,
      retries,
      lostEvent: options.lostEvent(),
      ...status,
    }
  }
  const problem = (state: ProjectionHealth['state'], detail: string, isFull = false): void => {
    const isKnown = status.state === state && status.detail === detail
    status = { ...status, state, detail, isFull }
    if (!isKnown || failures % TRIES_PER_REMINDER === 0) options.onProblem?.(health())
  }

  /** Folds a batch and commits it; false when an event in it stops the projection. */
  function take(events: readonly Event[], upTo: Position): boolean {
    const table = tables.table(name, version)
    const { changes, poison } = foldBatch(source.fold, (key) => table.get(key), events)
    const newest = events[(poison?.folded ?? events.length) - 1]
    const soundUpTo = poison === undefined ? upTo : newest?.position
    if (soundUpTo !== undefined) {
      table.commit(changes, reached, soundUpTo, newest)
      reached = soundUpTo
    }
    if (poison === undefined) return true
    problem('stopped', `cannot fold the event at position ${poison.position}: ${poison.reason}`)
    return false
  }

  /** Reads from the checkpoint to a position. */
  async function catchUp(upTo: Position): Promise<boolean> {
    const after = own()?.position ?? START
    reached = after
    return source.read({ after, upTo, filter, signal }, take)
  }

  /** Builds this version up to where the one in service stands, compares, and puts it in service. */
  async function replaceFormer(): Promise<boolean> {
    const before = former()
    if (before === undefined) {
      // The one that it was to replace was dropped meanwhile, so there is nothing to compare it with.
      if (own()?.role === 'building') tables.activate(name, version)
      refreshInService()
      return true
    }
    if (!(await catchUp(before.position))) return false
    const comparison = compareTables(tables.table(name, before.version), tables.table(name, version))
    status = { ...status, comparison }
    if (projection.changes === 'nothing' && comparison.changed + comparison.added + comparison.removed > 0) {
      problem(
        'withheld',
        `differs from version ${before.version}, which stays in service: ${comparison.sample.join(', ')}`,
      )
      return false
    }
    tables.activate(name, version)
    refreshInService()
    return true
  }

  async function follow(): Promise<void> {
    await options.ofThisLog()
    if (own() === undefined) tables.create(name, version, former() === undefined ? 'active' : 'building')
    refreshInService()
    reached = own()?.position ?? START
    if (!(await replaceFormer())) return
    if (!(await catchUp(await store.head()))) return
    const { detail: _resolved, isFull: _room, ...rest } = status
    status = { ...rest, state: 'live' }
    hasBeenLive = true
    failures = 0
    caughtUp.resolve()
    const items = store.subscribe({ after: reached, filter, signal })
    for await (const batch of batchesOf(items, LIMITS.projectionBatchEvents)) {
      const events = batch.flatMap((item) => (item.kind === 'event' ? [source.of(item.event)] : []))
      const last = batch.at(-1)
      if (last === undefined) continue
      if (!take(events, last.kind === 'event' ? last.event.position : last.position)) return
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const before = reached
      try {
        await follow()
        caughtUp.resolve()
        return
      } catch (error) {
        // Not the fold's fault: the store or the disk. The checkpoint says where to go on.
        if (signal.aborted) break
        retries += 1
        problem('retrying', reasonOf(error), sqliteCode(error) === SQLITE.full)
        // A projection that advances at each try does not wait longer from try to try.
        if (reached !== before) failures = 0
        const wait = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 2_500
        failures += 1
        await options.sleep(wait, signal)
      }
    }
    caughtUp.resolve()
  }

  const done = run()
  return {
    name,
    health,
    done,
    inService: Promise.race([answers.promise, done]),
    caughtUp: caughtUp.promise,
    active: () => {
      if (inService === undefined) {
        throw new ServiceError('store_unavailable', {
          message: `The read model ${name} was not opened yet.`,
        })
      }
      return tables.table(name, inService)
    },
  }
}

interface FoldedBatch {
  /** Changed rows by key; undefined where a row was deleted. */
  readonly changes: ReadonlyMap<string, JsonObject | undefined>
  /** The event that could not be folded, and why; the changes are those of the events before it. */
  readonly poison?: { readonly position: Position; readonly reason: string; readonly folded: number }
}

/** Folds events over rows that are read through `stored`, without changing what is stored. */
function foldBatch<Event extends EventPlace>(
  fold: (rows: Rows<JsonObject>, event: Event) => void,
  stored: (key: string) => JsonObject | undefined,
  events: readonly Event[],
): FoldedBatch {
  const changes = new Map<string, JsonObject | undefined>()
  const rows = {
    get: (key: string) => (changes.has(key) ? changes.get(key) : stored(key)),
    put: (key: string, row: JsonObject) => void changes.set(key, row),
    delete: (key: string) => void changes.set(key, undefined),
  }
  for (const [index, event] of events.entries()) {
    try {
      fold(rows, event)
    } catch (error) {
      const reason = reasonOf(error)
      // The failed fold may have changed rows before it failed: fold again, up to the event before it.
      const sound = foldBatch(fold, stored, events.slice(0, index))
      return { changes: sound.changes, poison: { position: event.position, reason, folded: index } }
    }
  }
  return { changes }
}
