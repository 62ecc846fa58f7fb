import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { assert } from '../../../contracts/errors/assert.ts'
import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import {
  comparePositions,
  earlier,
  inFrontOf,
  type Position,
  START,
} from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Projection } from '../../../projections/projection.ts'
import { batchesOf } from '../../runtime/async/batches.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { EventStore } from '../event-store.ts'
import { type ProjectionHealth, type ProjectionReader, ReadModel } from './read-model.ts'
import type { Entry, EventMark, RowTables } from './row-tables.ts'

export type { ProjectionHealth, ProjectionReader } from './read-model.ts'

export type Projector = ReturnType<typeof startProjector>

export interface ProjectorOptions {
  readonly store: EventStore
  readonly tables: RowTables
  readonly projections: readonly Projection[]
  readonly onProblem?: (health: ProjectionHealth) => void
  /** Told of the newest event that rows followed from, where the log does not have it any more. */
  readonly onLost?: (event: EventMark) => void
  readonly onDamaged?: (why: string) => void
  /** Waits between tries after a failure that is not the fold's. */
  readonly sleep: Clock['sleep']
}

/** A read model that stands still keeps callers out: how soon it is tried again, the last from then on. */
const RETRY_MS = [100, 1_000, 2_500] as const
/** A problem that lasts is reported again about once a minute. */
const TRIES_PER_REMINDER = 24
/** Rows that wait to be written, at most: more would hold callers up. */
const MOST_ROWS = 2_000
/**
 * New events after which rows and checkpoints are written, and how long they wait for that. Events that follow one another
 * change the same rows again and again, and a commit costs as much as a hundred rows.
 */
const LIVE_EVENTS = 512
const LIVE_MS = 100
/** Pages of the past after which they are written. A crash has as many read again. */
const PAST_PAGES = 64

/**
 * Keeps read models up with the log. Rows and checkpoints change in one transaction, so a crash repeats or loses
 * nothing. Both are written some time after they were folded, and a crash has a bounded stretch read again. An event
 * that cannot be folded stops its projection, and only that one. Those that are whole follow the log in one
 * subscription from the lowest checkpoint; those of another version than their rows are built anew in a second one, so
 * that the others do not stand still meanwhile.
 */
export function startProjector(options: ProjectorOptions) {
  const { store, tables, projections, onProblem, onLost, onDamaged, sleep } = options
  const ending = new AbortController()
  const { signal } = ending
  const models = projections.map((projection) => new ReadModel(projection, tables))
  const consumers: Consumer[] = []
  const [opened, caughtUp] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let lostEvent: EventMark | undefined
  const healthOf = (model: ReadModel): ProjectionHealth => ({ ...model.health(), lostEvent })
  const report = (of: readonly ReadModel[]): void => of.forEach((model) => onProblem?.(healthOf(model)))

  async function openModels(): Promise<void> {
    const newest = tables.newest()
    if (newest !== undefined && !(await isThere(store, newest))) {
      tables.empty()
      onLost?.(newest)
      lostEvent ??= newest
    }
    for (const model of models) model.open()
  }

  async function run(): Promise<void> {
    await withRetries(openModels, { models, sleep, signal, report })
    if (signal.aborted) return
    opened.resolve()
    for (const group of Map.groupBy(models, ({ isWhole }) => isWhole).values())
      consumers.push(new Consumer({ store, tables, sleep, report, models: group }))
    void Promise.all(consumers.map((consumer) => consumer.caughtUp)).then(() => caughtUp.resolve())
    await Promise.all(consumers.map((consumer) => consumer.run(signal)))
  }
  tables.onEmptied((error) => {
    onDamaged?.(reasonOf(error))
    for (const model of models) model.lose()
    for (const consumer of consumers) consumer.fail(error)
  })
  const running = run().finally(() => {
    opened.resolve()
    caughtUp.resolve()
  })
  return {
    health: () => models.map(healthOf),
    /** Its questions are refused with `store_unavailable` while it is built. */
    reader: <Row extends JsonObject>(projection: Projection<Row>): ProjectionReader<Row> => {
      const model = models.find((candidate) => candidate.projection.name === projection.name)
      if (model === undefined) throw new TypeError(`projection ${projection.name} is not run here`)
      return {
        get: (key) => model.get(key) as Row | undefined,
        range(range) {
          // A range also holds what was folded and not written: that is written before.
          if (model.isWhole && model.unwritten > 0)
            consumers.find((one) => one.models.includes(model))?.flush(model.projection)
          return model.range(range) as Entry<Row>[]
        },
        health: () => healthOf(model),
      }
    },
    /** Resolves once every read model was opened: those that are whole answer, however far behind the log. */
    opened: () => opened.promise,
    /** Resolves once every projection has caught up with the log for the first time, or has stopped; and at the signal. */
    async caughtUp(until?: AbortSignal): Promise<void> {
      if (until === undefined) await caughtUp.promise
      else if (!until.aborted) await Promise.race([caughtUp.promise, once(until, 'abort')])
    },
    async close(): Promise<void> {
      try {
        for (const consumer of consumers) consumer.write()
      } finally {
        ending.abort()
        await running
        tables.close()
      }
    },
  }
}

interface ConsumerOptions extends Pick<ProjectorOptions, 'store' | 'tables' | 'sleep'> {
  readonly models: readonly ReadModel[]
  readonly report: (models: readonly ReadModel[]) => void
}

/** One way through the log, for read models that take it together. */
class Consumer {
  readonly models: readonly ReadModel[]
  readonly #options: ConsumerOptions
  readonly #types: readonly string[]
  readonly #caughtUp = Promise.withResolvers<void>()
  readonly caughtUp = this.#caughtUp.promise
  /** Aborted, with the reason, when it has to begin anew from the rows in the tables. */
  #failing = new AbortController()
  /** The newest event that was folded since the last commit. */
  #newest: EventMark | undefined
  #isWritingSoon = false

  constructor(options: ConsumerOptions) {
    this.#options = options
    this.models = options.models
    this.#types = [...new Set(options.models.flatMap(({ types }) => [...types]))]
  }

  async run(signal: AbortSignal): Promise<void> {
    const follow = async (): Promise<void> => {
      const failing = new AbortController()
      this.#failing = failing
      await this.#follow(AbortSignal.any([signal, failing.signal]))
      failing.signal.throwIfAborted()
    }
    await withRetries(follow, { ...this.#options, signal })
    this.#caughtUp.resolve()
  }

  fail(error: unknown): void {
    this.#failing.abort(error)
  }

  /** Writes for a caller. @throws ServiceError `store_unavailable` */
  flush({ name }: Projection): void {
    try {
      this.write()
    } catch (cause) {
      const message = `The rows of the read model ${name} cannot be written: ${reasonOf(cause)}`
      throw new ServiceError('store_unavailable', { message, cause })
    }
  }

  /** Writes what was folded, in one transaction. */
  write(): void {
    const changed = this.models.filter((model) => model.change() !== undefined)
    if (changed.length === 0) return
    this.#options.tables.commit(
      changed.flatMap((model) => model.change() ?? []),
      this.#newest,
    )
    this.#newest = undefined
    for (const model of changed) model.written()
  }

  async #follow(signal: AbortSignal): Promise<void> {
    for (const model of this.models) model.open()
    this.#newest = undefined
    await this.#readPast(await this.#options.store.head(), signal)
    if (signal.aborted) return
    for (const model of this.models) model.live()
    this.write()
    this.#caughtUp.resolve()
    await this.#readOn(signal)
  }

  get #reached(): Position {
    const going = this.models.filter(({ isStopped }) => !isStopped).map(({ reached }) => reached)
    return going.length === 0 ? (this.models[0]?.reached ?? START) : going.reduce(earlier)
  }

  async #readPast(upTo: Position, signal: AbortSignal): Promise<void> {
    const after = this.#reached
    // A server that was asked may not have come so far yet.
    if (comparePositions(upTo, after) <= 0) return
    let batch: RecordedEvent[] = []
    let pages = 0
    const give = (to: Position): void => {
      this.#fold(batch, to)
      batch = []
      if (++pages % PAST_PAGES === 0) this.write()
    }
    const options = { after, upTo, filter: { types: this.#types }, signal }
    // A short past is folded at once: nobody is served before that. Of a long one, callers have turns in between.
    const onLooked = async (seen: { readonly upTo: Position }): Promise<void> => {
      if (pages > 0) await setImmediate()
      give(seen.upTo)
    }
    for await (const event of this.#options.store.readAll({ ...options, onLooked })) {
      if (signal.aborted) return
      batch.push(event)
    }
    if (!signal.aborted) give(upTo)
  }

  async #readOn(signal: AbortSignal): Promise<void> {
    const options = { after: this.#reached, filter: { types: this.#types }, signal }
    let unwritten = 0
    for await (const batch of batchesOf(
      this.#options.store.subscribe(options),
      LIMITS.projectionBatchEvents,
    )) {
      const last = batch.at(-1)
      if (signal.aborted || last === undefined) return
      const events = batch.flatMap((item) => (item.kind === 'event' ? [item.event] : []))
      assert(events.length <= LIMITS.projectionBatchEvents, 'a batch is within its limit', events.length)
      this.#fold(events, last.kind === 'event' ? last.event.position : last.position)
      unwritten += events.length
      if (unwritten >= LIVE_EVENTS) {
        unwritten = 0
        this.write()
      } else void this.#writeSoon(signal)
    }
  }

  #fold(events: readonly RecordedEvent[], upTo: Position): void {
    for (const model of this.models) {
      const wasStopped = model.isStopped
      model.fold(events, upTo)
      if (model.isStopped && !wasStopped) this.#options.report([model])
    }
    const last = events.at(-1)
    if (last !== undefined) this.#newest = { id: last.id, position: last.position }
    if (this.models.some(({ unwritten }) => unwritten >= MOST_ROWS)) this.write()
  }

  async #writeSoon(signal: AbortSignal): Promise<void> {
    if (this.#isWritingSoon) return
    this.#isWritingSoon = true
    await this.#options.sleep(LIVE_MS, signal)
    this.#isWritingSoon = false
    try {
      if (!signal.aborted) this.write()
    } catch (error) {
      this.fail(error)
    }
  }
}

interface RetryOptions extends Pick<ConsumerOptions, 'models' | 'sleep' | 'report'> {
  readonly signal: AbortSignal
}

/** Does some work again where it fails for a reason that may pass: the store, or the disk. */
async function withRetries(
  work: () => Promise<void>,
  { models, sleep, signal, report }: RetryOptions,
): Promise<void> {
  let [failures, stood, said] = [0, '', '']
  while (!signal.aborted) {
    try {
      await work()
      return
    } catch (error) {
      if (signal.aborted) return
      const reached = models.map((model) => model.reached).join()
      // Those that advance at each try do not wait longer from try to try.
      if (reached !== stood) failures = 0
      const reason = reasonOf(error)
      for (const model of models) model.failed(error)
      if (failures % TRIES_PER_REMINDER === 0 || reason !== said) report(models)
      ;[stood, said] = [reached, reason]
      await sleep(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)] ?? 2_500, signal)
    }
  }
}

/** Whether the log still has an event that rows follow from, or was restored from an older copy. */
async function isThere(store: Pick<EventStore, 'readAll'>, { id, position }: EventMark): Promise<boolean> {
  try {
    for await (const event of store.readAll({ after: inFrontOf(position), limit: 1 })) return event.id === id
    return false
  } catch (error) {
    // The position is none of this log.
    if (isServiceError(error, 'invalid_request')) return false
    throw error
  }
}
