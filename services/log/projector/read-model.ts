import { assert } from '../../../contracts/errors/assert.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { decodeEvent, requireReadable } from '../../../contracts/events/event-catalogue.ts'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { comparePositions, earlier, type Position, START } from '../../../contracts/infra/position.ts'
import type { Projection } from '../../../projections/projection.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { SQLITE, sqliteCode } from '../../runtime/sqlite/result-code.ts'
import type { ChangedRows, Entry, EventMark, ModelChange, RangeOptions, RowTables } from './row-tables.ts'

export interface ProjectionHealth {
  readonly name: string
  readonly version: number
  /**
   * `building` reads the past, `live` has caught up, `retrying` could not read or write just now, `stopped` met an event
   * it cannot fold.
   */
  readonly state: 'building' | 'live' | 'retrying' | 'stopped'
  readonly position: Position
  /** Whether it answers: it has caught up with the log once since it was begun, in this process or before. */
  readonly isWhole: boolean
  /** Whether it has caught up with the log once, in this process. */
  readonly hasBeenLive: boolean
  /** Whether it stands still because its disk is full. */
  readonly isFull?: boolean
  /** An event that the log had when rows were folded, and has no more: it was set back, and all is built anew. */
  readonly lostEvent?: EventMark | undefined
  readonly detail?: string
}

/** Answers questions from the rows of a projection. */
export interface ProjectionReader<Row extends JsonObject> {
  /** @throws ServiceError `store_unavailable` while it is built */
  get(key: string): Row | undefined
  range(options: RangeOptions): Entry<Row>[]
  /** How far this one has come; the others are not looked at. */
  health(): ProjectionHealth
}

/** Rows that are kept in memory. */
const KNOWN_ROWS = 1_000
/** Remembered for a key that has no row. */
const NO_ROW: JsonObject = Object.freeze({})

/** The rows of one projection: those in the table, and those that were folded since they were written last. */
export class ReadModel {
  readonly projection: Projection
  readonly types: ReadonlySet<string>
  readonly #tables: RowTables
  /** Rows as they are in the table, null where there is none: events that follow one another change the same few. */
  readonly #known = new RecentMap<string, JsonObject>(KNOWN_ROWS)
  #unwritten = new Map<string, JsonObject | undefined>()
  #isWhole = false
  #isStoredWhole = false
  #isOpen = false
  #reached: Position = START
  #stored: Position = START
  #hasBeenLive = false
  #status: Pick<ProjectionHealth, 'state' | 'detail' | 'isFull'> = { state: 'building' }

  constructor(projection: Projection, tables: RowTables) {
    this.projection = projection
    this.types = new Set(projection.events)
    this.#tables = tables
  }

  get reached(): Position {
    return this.#reached
  }

  get isWhole(): boolean {
    return this.#isWhole
  }

  get isStopped(): boolean {
    return this.#status.state === 'stopped'
  }

  get unwritten(): number {
    return this.#unwritten.size
  }

  health(): ProjectionHealth {
    const { name, version } = this.projection
    const stands = { position: this.#reached, isWhole: this.#isWhole, hasBeenLive: this.#hasBeenLive }
    return { name, version, ...stands, ...this.#status }
  }

  /** Goes on from its rows in the table. The newest event that they follow from is the newest that is known to be in the log. */
  open(): void {
    const { position, isWhole } = this.#tables.open(this.projection.name, this.projection.version)
    const most = this.#tables.newest()?.position ?? START
    this.#known.clear()
    this.#unwritten = new Map()
    this.#stored = this.#reached = earlier(position, most)
    this.#isWhole = this.#isStoredWhole = isWhole
    this.#isOpen = true
  }

  lose(): void {
    this.#isOpen = false
    this.#isWhole = false
    this.#hasBeenLive = false
    this.#status = { state: 'building' }
  }

  live(): void {
    if (this.isStopped) return
    this.#isWhole = true
    this.#hasBeenLive = true
    this.#status = { state: 'live' }
  }

  failed(error: unknown): void {
    const isFull = sqliteCode(error) === SQLITE.full
    if (!this.isStopped) this.#status = { state: 'retrying', detail: reasonOf(error), isFull }
  }

  /** A row. Most of those that are decided on were folded lately, and are at hand. */
  get(key: string): JsonObject | undefined {
    this.#requireWhole()
    if (this.#unwritten.has(key)) return this.#unwritten.get(key)
    const known = this.#known.get(key)
    if (known === undefined) return this.#tables.get(this.projection.name, key)
    return known === NO_ROW ? undefined : known
  }

  range(options: RangeOptions): Entry[] {
    this.#requireWhole()
    return this.#tables.range(this.projection.name, options)
  }

  /** Folds the events that come next, up to a position; stops before one that cannot be folded. */
  fold(events: readonly RecordedEvent[], upTo: Position): void {
    if (this.isStopped || comparePositions(upTo, this.#reached) <= 0) return
    const next = events.filter(
      ({ type, position }) => this.types.has(type) && comparePositions(position, this.#reached) > 0,
    )
    requireOrder(next, this.#reached, upTo)
    const { name } = this.projection
    const before = (key: string): JsonObject | undefined => {
      if (this.#unwritten.has(key)) return this.#unwritten.get(key)
      let row = this.#known.get(key)
      if (row === undefined) this.#known.set(key, (row = this.#tables.get(name, key) ?? NO_ROW))
      return row === NO_ROW ? undefined : row
    }
    const { changes, poison } = foldBatch(this.projection, before, next)
    for (const [key, row] of changes) this.#unwritten.set(key, row)
    if (poison === undefined) this.#reached = upTo
    else {
      this.#reached = next[poison.folded - 1]?.position ?? this.#reached
      const detail = `cannot fold the event at position ${poison.position}: ${poison.reason}`
      this.#status = { state: 'stopped', detail }
    }
  }

  /** Changes since the last write; undefined where there are none. */
  change(): ModelChange | undefined {
    const isStored = this.#reached === this.#stored && this.#isWhole === this.#isStoredWhole
    if (!this.#isOpen || isStored) return undefined
    const { projection, isWhole } = this
    return { name: projection.name, rows: this.#unwritten, position: this.#reached, isWhole }
  }

  written(): void {
    // Most rows are not looked for soon: only those that somebody looked for stay.
    for (const [key, row] of this.#unwritten) if (this.#known.has(key)) this.#known.set(key, row ?? NO_ROW)
    this.#unwritten = new Map()
    this.#stored = this.#reached
    this.#isStoredWhole = this.#isWhole
  }

  #requireWhole(): void {
    if (this.#isWhole && this.#isOpen) return
    const { state, detail } = this.#status
    const why = !this.#isOpen
      ? 'was not opened yet'
      : state === 'stopped'
        ? `has stopped: ${detail}`
        : `is being built, and has come to position ${this.#reached}`
    throw new ServiceError('store_unavailable', { message: `The read model ${this.projection.name} ${why}.` })
  }
}

function requireOrder(events: readonly RecordedEvent[], reached: Position, upTo: Position): void {
  let before = reached
  for (const { position } of events) {
    const isNext = comparePositions(position, before) > 0
    assert(isNext, 'a fold sees each event once, in the order of the log', position)
    before = position
  }
  assert(comparePositions(upTo, before) >= 0, 'a checkpoint is not before the events it covers', upTo)
}

interface FoldedBatch {
  readonly changes: ChangedRows
  /** An event that cannot be folded, why, and how many were folded before it: the changes are those of these. */
  readonly poison?: { readonly position: Position; readonly reason: string; readonly folded: number }
}

/** Folds events over rows, without changing them. @param before rows as they were before these events */
function foldBatch(
  projection: Projection,
  before: (key: string) => JsonObject | undefined,
  events: readonly RecordedEvent[],
): FoldedBatch {
  const changes = new Map<string, JsonObject | undefined>()
  const rows = {
    get: (key: string) => changes.get(key) ?? (changes.has(key) ? undefined : before(key)),
    put: (key: string, row: JsonObject) => void changes.set(key, row),
    delete: (key: string) => void changes.set(key, undefined),
  }
  for (const [index, event] of events.entries()) {
    try {
      if (projection.needs === 'recorded') {
        requireReadable(event)
        projection.fold(rows, event)
      } else projection.fold(rows, decodeEvent(event))
    } catch (error) {
      const reason = reasonOf(error)
      // The failed fold may have changed rows before it failed: fold again, up to the event before it.
      const sound = foldBatch(projection, before, events.slice(0, index))
      return { changes: sound.changes, poison: { position: event.position, reason, folded: index } }
    }
  }
  return { changes }
}
