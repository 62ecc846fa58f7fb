import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { ServiceError } from '../../../contracts/errors.ts'
import type { EventPlace, RecordedEvent } from '../../../contracts/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Position, START } from '../../../contracts/position.ts'
import { isErasable } from '../../../contracts/streams.ts'
import { LIMIT_PARAMETER } from '../../runtime/sqlite/limit-parameter.ts'
import type { EventFilter, ReadAllOptions, ReadOptions, ReadPlacesOptions } from '../event-store.ts'
import type { LogPage } from '../follow-log.ts'
import { toPosition, toSequence } from '../sequence-position.ts'
import { isArchivedData } from './archive-block.ts'
import { archiveFolder, openArchivedContents } from './archived-contents.ts'
import { isErasedData } from './erase-stream.ts'
import { requireLayout } from './schema.ts'

/** A filtered look covers so many pages at most. */
const FILTERED_PAGES = 8

const PLACE_COLUMNS = 'position, stream, revision, type, schema, id'
const COLUMNS = `${PLACE_COLUMNS}, data, meta, at`

interface PlaceRow extends Omit<EventPlace, 'position'> {
  readonly position: number
}

interface Row extends PlaceRow {
  readonly data: string
  readonly meta: string
  readonly at: string
}

export interface LogReader {
  read(stream: string, options: ReadOptions): AsyncGenerator<RecordedEvent, void, void>
  readAll(options: ReadAllOptions): AsyncGenerator<RecordedEvent, void, void>
  readPlaces(options: ReadPlacesOptions): AsyncGenerator<readonly EventPlace[], void, void>
  readPage(after: Position, limit: number, filter?: EventFilter): LogPage
  head(): Position
  close(): void
}

/**
 * Reads the log in pages over a connection of its own, which the writer does not hold up. Between pages others
 * have their turn: a long read must not hold them up, nor keep a client's hanging up from being noticed.
 */
export function openLogReader(file: string): LogReader {
  const db = new DatabaseSync(file, { readOnly: true })
  requireLayout(db)
  const contents = openArchivedContents(db, archiveFolder(file))
  const recorded = (row: Row): RecordedEvent => recordedOf(contents.filled(row))
  const headStatement = db.prepare('SELECT max(position) AS position FROM event')
  const requireOpen = (): void => {
    if (!db.isOpen) throw new ServiceError('store_unavailable', { message: 'the store is closed' })
  }
  const head = (): number => {
    requireOpen()
    return (headStatement.get() as { position: number | null }).position ?? 0
  }
  const streamPage = {
    forwards: db.prepare(
      `SELECT ${COLUMNS} FROM event WHERE stream = ? AND revision BETWEEN ? AND ? ORDER BY revision ${LIMIT_PARAMETER}`,
    ),
    backwards: db.prepare(
      `SELECT ${COLUMNS} FROM event WHERE stream = ? AND revision BETWEEN ? AND ? ORDER BY revision DESC ${LIMIT_PARAMETER}`,
    ),
  }
  const pages = new Map<string, StatementSync>()

  /** Matching rows behind `after`, and how far was looked: a rare match must not make one look long. */
  function lookAt(
    after: number,
    end: number,
    limit: number,
    filter: EventFilter | undefined,
    columns = COLUMNS,
  ) {
    requireOpen()
    const window = LIMITS.readPageEvents * (filter === undefined ? 1 : FILTERED_PAGES)
    const upTo = Math.min(end, after + window)
    const where = filterSql(filter)
    const page = statementOf(
      `SELECT ${columns} FROM event WHERE position > ? AND position <= ?${where.sql} ORDER BY position ${LIMIT_PARAMETER}`,
    )
    const rows = page.all(after, upTo, ...where.values, limit) as unknown as Row[]
    const lookedUpTo = rows.length < limit ? upTo : (rows.at(-1)?.position ?? upTo)
    return {
      rows: rows.filter((row) => !isErasable(row.stream)),
      lookedUpTo: Math.max(after, lookedUpTo),
    }
  }

  function statementOf(sql: string): StatementSync {
    const statement = pages.get(sql) ?? db.prepare(sql)
    pages.set(sql, statement)
    return statement
  }

  return {
    async *read(stream, { from, to, direction = 'forwards', limit = Infinity, signal }) {
      let low = direction === 'forwards' ? (from ?? 0) : (to ?? 0)
      let high = (direction === 'forwards' ? to : from) ?? Number.MAX_SAFE_INTEGER
      for (let left = limit; left > 0; ) {
        requireOpen()
        const page = Math.min(left, LIMITS.readPageEvents)
        const rows = streamPage[direction].all(stream, low, high, page) as unknown as Row[]
        for (const row of rows) {
          if (signal?.aborted === true || isErasedData(row.data)) return
          // Neighbours of a stream lie in as many blocks, each of which is unpacked.
          if (isArchivedData(row.data)) await setImmediate()
          yield recorded(row)
        }
        const last = rows.at(-1)
        if (last === undefined || rows.length < page) return
        left -= rows.length
        if (direction === 'forwards') low = last.revision + 1
        else high = last.revision - 1
        await setImmediate()
      }
    },

    async *readAll({ after = START, upTo, filter, limit = Infinity, signal, onLooked }) {
      const newest = head()
      const end = typeof upTo === 'string' ? Math.min(toSequence(upTo), newest) : newest
      const until = upTo instanceof Date ? upTo.toISOString() : undefined
      let position = toSequence(after)
      for (let left = limit; left > 0 && position < end; ) {
        const { rows, lookedUpTo } = lookAt(position, end, Math.min(left, LIMITS.readPageEvents), filter)
        for (const row of rows) {
          if (signal?.aborted === true || (until !== undefined && row.at > until)) return
          yield recorded(row)
        }
        const events = lookedUpTo - position
        position = lookedUpTo
        left -= rows.length
        await setImmediate()
        await onLooked?.({ upTo: toPosition(position), events })
        if (signal?.aborted === true) return
      }
    },

    async *readPlaces({ after = START, upTo, filter, signal }) {
      const end = upTo === undefined ? head() : Math.min(toSequence(upTo), head())
      for (let position = toSequence(after); position < end; ) {
        if (signal?.aborted === true) return
        const page = LIMITS.readPageEvents
        const { rows, lookedUpTo } = lookAt(position, end, page, filter, PLACE_COLUMNS)
        position = lookedUpTo
        if (rows.length > 0) yield rows.map(placed)
        await setImmediate()
      }
    },

    readPage(after, limit, filter) {
      const from = toSequence(after)
      const { rows, lookedUpTo } = lookAt(from, head(), limit, filter)
      return { events: rows.map(recorded), lookedUpTo: toPosition(lookedUpTo) }
    },

    head: () => toPosition(head()),
    close: () => db.close(),
  }
}

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

const placed = (row: PlaceRow): EventPlace => ({ ...row, position: String(row.position) })

const recordedOf = (row: Row): RecordedEvent => ({
  id: row.id,
  stream: row.stream,
  revision: row.revision,
  position: String(row.position),
  type: row.type,
  schema: row.schema,
  at: row.at,
  data: JSON.parse(row.data) as RecordedEvent['data'],
  meta: JSON.parse(row.meta) as RecordedEvent['meta'],
})
