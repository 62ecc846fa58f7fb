import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { assert } from '../../../contracts/errors/assert.ts'
import { isErasable } from '../../../contracts/events/streams.ts'
import type { NewEvent, RecordedEvent } from '../../../contracts/infra/event.ts'
import { type Position, START } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { LIMIT_PARAMETER } from '../../runtime/sqlite/limit-parameter.ts'
import type { EventFilter, ReadAllOptions, ReadOptions, StreamNames } from '../event-store.ts'
import { type LogPage, matchesFilter } from '../follow-log.ts'
import { toPosition, toSequence } from '../sequence-position.ts'
import type { Committed } from './append-queue.ts'
import { requireLayout } from './schema.ts'
import { EVENTS, eventOf, isErasedData, rowsIn, type SummedRow, sound } from './stored-rows.ts'

/** A filtered look covers so many pages at most. */
const FILTERED_PAGES = 8

/** Characters of the newest events that are kept, besides the newest page. */
const RECENT_CHARACTERS = 131_072
/** Commits after which none is kept any more until somebody reads: nobody follows. */
const UNREAD_COMMITS = 64

type Row = Omit<RecordedEvent, 'data' | 'meta'> & {
  readonly data: string
  readonly meta: string
  /** Its event as it was appended by this process. */
  readonly given?: NewEvent | undefined
  recorded?: RecordedEvent
}

/**
 * Reads the log in pages over a connection of its own, which the writer does not hold up. Between pages others
 * have their turn: a long read must not hold them up, nor keep a client's hanging up from being noticed.
 */
export class LogReader {
  readonly #db: DatabaseSync
  readonly #all: ReturnType<typeof rowsIn>
  /** The newest rows of this process, without a hole: those who follow take the same ones at about the same time. */
  #recent: Row[] = []
  #recentUpTo: number
  #recentCharacters = 0
  /** Commits since somebody who follows has read. */
  #unread = 0

  constructor(file: string) {
    this.#db = new DatabaseSync(file, { readOnly: true })
    requireLayout(this.#db)
    this.#all = rowsIn(this.#db)
    this.#recentUpTo = this.#newest()
  }

  async *read(
    stream: string,
    { from, to, direction = 'forwards', limit = Infinity, signal, lazy }: ReadOptions = {},
  ): AsyncGenerator<RecordedEvent, void, void> {
    const isForwards = direction === 'forwards'
    let low = isForwards ? (from ?? 0) : (to ?? 0)
    let high = (isForwards ? to : from) ?? Number.MAX_SAFE_INTEGER
    const sql = `${EVENTS} WHERE stream = ? AND revision BETWEEN ? AND ? ORDER BY revision${isForwards ? '' : ' DESC'} ${LIMIT_PARAMETER}`
    // A stream begins with revision 0, so that one that lacks its beginning is seen.
    let before: number | undefined = isForwards ? low - 1 : undefined
    for (let left = limit; left > 0; ) {
      const page = Math.min(left, LIMITS.readPageEvents)
      const rows = this.#rows(sql, stream, low, high, page)
      for (const row of rows) {
        const step = row.revision - (before ?? row.revision)
        assert(
          row.stream === stream && (before === undefined || step === (isForwards ? 1 : -1)),
          'a stream has no gap in its revisions',
          step,
        )
        before = row.revision
        if (signal?.aborted === true || isErasedData(row.data)) return
        yield this.#recorded(row, lazy)
      }
      const last = rows.at(-1)
      if (last === undefined || rows.length < page) return
      left -= rows.length
      if (isForwards) low = last.revision + 1
      else high = last.revision - 1
      await setImmediate()
    }
  }

  async *readAll({
    after = START,
    upTo,
    filter,
    limit = Infinity,
    signal,
    lazy,
    onLooked,
  }: ReadAllOptions = {}): AsyncGenerator<RecordedEvent, void, void> {
    const newest = this.#newest()
    const end = typeof upTo === 'string' ? Math.min(toSequence(upTo), newest) : newest
    const until = upTo instanceof Date ? upTo.toISOString() : undefined
    let position = toSequence(after)
    for (let left = limit; left > 0 && position < end; ) {
      const most = Math.min(left, LIMITS.readPageEvents)
      const { rows, lookedUpTo } = this.#lookAt(position, end, most, filter)
      for (const row of rows) {
        if (signal?.aborted === true || (until !== undefined && row.at > until)) return
        yield this.#recorded(row, lazy)
      }
      const events = lookedUpTo - position
      assert(events > 0, "a page's cursor advances", events)
      position = lookedUpTo
      left -= rows.length
      await setImmediate()
      await onLooked?.({ upTo: toPosition(position), events })
      if (signal?.aborted === true) return
    }
  }

  readPage(after: Position, limit: number, filter?: EventFilter): LogPage {
    const from = toSequence(after)
    this.#unread = 0
    const { rows, lookedUpTo } =
      this.#lookAtRecent(from, limit, filter) ?? this.#lookAt(from, this.#newest(), limit, filter)
    return { events: rows.map((row) => this.#recorded(row)), lookedUpTo: toPosition(lookedUpTo) }
  }

  head(): Position {
    return toPosition(this.#newest())
  }

  /** Up to where those who follow the log were woken, or will be. */
  kept(): Position {
    return toPosition(this.#recentUpTo)
  }

  /** Keeps what was just committed for those who follow the log, so that it is not read back and parsed. */
  keep(committed: Committed): void {
    const upTo = committed.outcomes.findLast(isNew)?.position
    if (upTo === undefined) return
    const rows = this.#unread++ < UNREAD_COMMITS ? rowsOf(committed) : []
    const first = upTo - rows.length + 1
    assert(Number(rows[0]?.position ?? first) === first, 'a commit has no hole in its positions', upTo)
    // Where nobody knows what became of a commit in between, those who follow read it from the file.
    if (first !== this.#recentUpTo + 1) {
      this.#recent = []
      this.#recentCharacters = 0
    }
    this.#recentUpTo = upTo
    for (const row of rows) {
      // Nobody reads it here, and what is erased must not be left anywhere.
      if (isErasable(row.stream)) Object.assign(row, { data: '', meta: '', given: undefined })
      this.#recentCharacters += row.data.length
    }
    let old = 0
    for (; this.#recentCharacters > RECENT_CHARACTERS && old < this.#recent.length; old++)
      this.#recentCharacters -= this.#recent[old]?.data.length ?? 0
    this.#recent.splice(0, old)
    this.#recent.push(...rows)
  }

  /** A look into the index for each stream, however many events it has. */
  streams(prefix: string): StreamNames {
    const upTo = this.head()
    const names: string[] = []
    const sql = 'SELECT stream FROM event WHERE stream >= ? AND stream < ? ORDER BY stream LIMIT 1'
    for (let from = prefix; ; ) {
      const [found] = this.#all(sql, from, `${prefix}~`) as [string][]
      const name = found?.[0]
      if (name === undefined) return { names, upTo }
      names.push(name)
      // A blank comes before all characters of names.
      from = `${name} `
    }
  }

  close(): void {
    this.#db.close()
  }

  #newest(): number {
    const [found] = this.#all('SELECT max(position) FROM event') as [[number | null]]
    return found[0] ?? 0
  }

  /** As `#lookAt`, among the newest rows; undefined where they begin after that position, or end there. */
  #lookAtRecent(after: number, limit: number, filter: EventFilter | undefined) {
    if (after >= this.#recentUpTo || after < this.#recentUpTo - this.#recent.length) return undefined
    const rows: Row[] = []
    let lookedUpTo = after
    for (let index = this.#recent.length - (this.#recentUpTo - after); rows.length < limit; index++) {
      const row = this.#recent[index]
      if (row === undefined) break
      lookedUpTo = Number(row.position)
      if (matchesFilter(row, filter)) rows.push(row)
    }
    return { rows, lookedUpTo }
  }

  /** Matching rows after a position, and how far was looked: a rare match must not make one look long. */
  #lookAt(after: number, end: number, limit: number, filter: EventFilter | undefined) {
    const window = LIMITS.readPageEvents * (filter === undefined ? 1 : FILTERED_PAGES)
    const upTo = Math.min(end, after + window)
    const where = filterSql(filter)
    const rows = this.#rows(
      `${EVENTS} WHERE position > ? AND position <= ?${where.sql} ORDER BY position ${LIMIT_PARAMETER}`,
      after,
      upTo,
      ...where.values,
      limit,
    )
    const lookedUpTo = rows.length < limit ? upTo : Number(rows.at(-1)?.position ?? upTo)
    assert(rows.length <= limit, 'a page of the log is within its limit', rows.length)
    assert(
      filter !== undefined || rows.length === Math.min(limit, Math.max(0, upTo - after)),
      'the log has no hole in its positions',
      after,
    )
    return { rows: rows.filter((row) => !isErasable(row.stream)), lookedUpTo: Math.max(after, lookedUpTo) }
  }

  #rows(sql: string, ...values: (string | number)[]): Row[] {
    return (this.#all(sql, ...values) as SummedRow[]).map((found) => eventOf(sound(found)))
  }

  #recorded(row: Row, lazy?: boolean): RecordedEvent {
    row.recorded ??= lazy === true ? new LazyEvent(row) : parsed(row)
    return row.recorded
  }
}

/** An event whose JSON is parsed when somebody reads it. A class: objects with getters of their own are dear. */
class LazyEvent implements RecordedEvent {
  readonly id: string
  readonly stream: string
  readonly revision: number
  readonly position: Position
  readonly type: string
  readonly schema: number
  readonly at: string
  readonly #text: string
  readonly #meta: string
  #data: RecordedEvent['data'] | undefined

  constructor({ id, stream, revision, position, type, schema, at, data, meta }: Row) {
    this.id = id
    this.stream = stream
    this.revision = revision
    this.position = position
    this.type = type
    this.schema = schema
    this.at = at
    this.#text = data
    this.#meta = meta
  }

  get data(): RecordedEvent['data'] {
    this.#data ??= JSON.parse(this.#text) as RecordedEvent['data']
    return this.#data
  }

  get meta(): RecordedEvent['meta'] {
    return JSON.parse(this.#meta) as RecordedEvent['meta']
  }
}

function parsed({ data, meta, given, ...rest }: Row): RecordedEvent {
  const event = {
    ...rest,
    data: given?.data ?? (JSON.parse(data) as RecordedEvent['data']),
    meta: given?.meta ?? (JSON.parse(meta) as RecordedEvent['meta']),
  }
  // It is no part of what was appended, and copies do not have it.
  return Object.defineProperty(event, 'text', { value: data })
}

type Appended = Required<Exclude<Committed['outcomes'][number], { readonly code: unknown }>>

/** Whether this commit brought an append into the log. */
const isNew = (outcome: Committed['outcomes'][number]): outcome is Appended =>
  'at' in outcome && outcome.at !== undefined

const rowsOf = ({ batch, outcomes }: Committed): Row[] =>
  batch.flatMap(({ append: { stream, events: texts }, events }, index) => {
    const last = outcomes[index]
    if (last === undefined || !isNew(last)) return []
    const { at } = last
    return texts.map(({ id, type, schema, data, meta }, event): Row => {
      const before = texts.length - 1 - event
      const [position, revision] = [String(last.position - before), last.revision - before]
      return { id, stream, revision, position, type, schema, at, data, meta, given: events[event] }
    })
  })

/** Lists are bound as one JSON text each, so that there are four statements at most, however long the lists. */
function filterSql(filter: EventFilter | undefined): { sql: string; values: string[] } {
  const values: string[] = []
  let sql = ''
  if (filter?.types !== undefined) {
    sql += ' AND type IN (SELECT value FROM json_each(?))'
    values.push(JSON.stringify(filter.types))
  }
  if (filter?.streamPrefixes !== undefined) {
    sql +=
      ' AND EXISTS (SELECT 1 FROM json_each(?) AS prefix WHERE substr(stream, 1, length(prefix.value)) = prefix.value)'
    values.push(JSON.stringify(filter.streamPrefixes))
  }
  return { sql, values }
}
