import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { reasonOf } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { transaction } from '../../runtime/sqlite/transaction.ts'
import { filesBeside } from '../projector/rows-file.ts'
import { isArchivedData } from './archive-block.ts'
import { archiveFolder, openArchivedContents } from './archived-contents.ts'
import { eventsWithSums, type SummedRow, sound, sumOf } from './row-sum.ts'
import { prepareArchiver } from './schema.ts'
import type { StoredRow } from './stored-row.ts'

/** The state of a scrub, as {@link scrubLog} reports it after each slice. */
export interface ScrubReport {
  /** Events up to here were read in this pass. */
  readonly position: number
  readonly head: number
  /** When the newest pass ended, Unix milliseconds. */
  readonly endedAt: number | null
  /** Damage of the log, the first of it in full. */
  readonly damaged: number
  readonly damage: readonly string[]
  /** Damage of the read models, which are to be built anew. */
  readonly readModels?: string
  /** Why the scrub waits. */
  readonly problem?: string
}

export interface ScrubOptions {
  /** `events.db`; undefined where the log is not on this machine, so that the read models alone are checked. */
  readonly file: string | undefined
  /** `projections.db`, where this process keeps read models. */
  readonly readModels: string | undefined
  readonly now: () => number
  readonly elapsed: () => number
  readonly sleep: (milliseconds: number) => Promise<void>
  readonly signal: AbortSignal
  readonly report: (report: ScrubReport) => void
}

/** Rests after each slice nineteen times as long as that took, so that it has a twentieth of one core and of the disk. */
const REST_SHARE = 19
const LEAST_REST_MS = 20
const RETRY_MS = 60_000
const MOST_NAMED = 8
/** A file of so many bytes is checked page by page, in about a second. */
const WHOLE_CHECK_BYTES = 64 * 1_024 * 1_024

/** Reads the whole log beside the service, in slices, and again each day; takes the checksums that are missing. */
export async function scrubLog(options: ScrubOptions): Promise<void> {
  const { signal, sleep, report, now } = options
  let newest: ScrubReport = { position: 0, head: 0, endedAt: null, damaged: 0, damage: [] }
  while (!signal.aborted) {
    const log = options.file === undefined ? undefined : openScrub(options.file)
    try {
      newest = { ...newest, ...log?.state() }
      const dueAt = (newest.endedAt ?? 0) + LIMITS.scrubEveryMs
      const isUnderWay = newest.position > 0
      if (newest.damaged === 0 && !isUnderWay && newest.endedAt !== null && dueAt > now()) {
        report({ ...newest, position: newest.head })
        await sleep(dueAt - now())
        continue
      }
      newest = await pass(log, options, isUnderWay ? newest : { ...newest, position: 0 })
      if (newest.damaged > 0) await sleep(LIMITS.scrubEveryMs)
    } catch (error) {
      report({ ...newest, problem: reasonOf(error) })
      await sleep(RETRY_MS)
    } finally {
      log?.close()
    }
  }
}

type Scrub = ReturnType<typeof openScrub> | undefined

/** Goes on where the last process ended. */
async function pass(log: Scrub, options: ScrubOptions, from: ScrubReport): Promise<ScrubReport> {
  const { report, elapsed, sleep, signal, now, readModels } = options
  const found: string[] = []
  let at: ScrubReport = { ...from, damaged: 0, damage: [] }
  const rested = async <Result>(work: () => Result): Promise<Result> => {
    const began = elapsed()
    const result = work()
    await sleep(Math.max(LEAST_REST_MS, REST_SHARE * (elapsed() - began)))
    return result
  }
  while (!signal.aborted && at.position < at.head) {
    found.push(...(await rested(() => log?.slice(at.position, at.head) ?? [])))
    const position = Math.min(at.position + LIMITS.scrubSliceEvents, at.head)
    at = { ...at, position, damaged: found.length, damage: found.slice(0, MOST_NAMED) }
    // A damaged stretch is looked at again by the next process.
    if (found.length === 0) log?.note(position, at.endedAt)
    report(at)
  }
  if (signal.aborted) return at
  found.push(...(await rested(() => log?.wholeCheck() ?? [])))
  const faults: string[] = []
  for (const check of readModels === undefined ? [] : readModelChecks(readModels)) {
    if (signal.aborted) return at
    faults.push(...(await rested(check)))
  }
  at = { ...at, endedAt: now(), damaged: found.length, damage: found.slice(0, MOST_NAMED) }
  if (found.length === 0) log?.note(0, at.endedAt)
  report({ ...at, ...(faults[0] !== undefined && { readModels: faults[0] }) })
  return at
}

/** One look at a log, for {@link scrubLog}. */
export function openScrub(file: string) {
  const db = new DatabaseSync(file)
  prepareArchiver(db)
  db.exec('PRAGMA cell_size_check = ON')
  const contents = openArchivedContents(db, archiveFolder(file))
  const page = db.prepare(`${eventsWithSums(db)} WHERE position > ? AND position <= ? ORDER BY position`)
  page.setReturnArrays(true)
  // `at` is in no index: the row itself is looked for as well.
  const byStream = db.prepare(
    'SELECT position, at FROM event INDEXED BY event_by_stream WHERE stream = ? AND revision = ?',
  )
  const byId = db.prepare('SELECT position, at FROM event INDEXED BY event_by_id WHERE id = ?')
  const addSum = db.prepare('INSERT OR IGNORE INTO event_sum (position, sum) VALUES (?, ?)')
  const note = db.prepare('INSERT OR REPLACE INTO scrub (one, position, ended_at) VALUES (1, ?, ?)')
  const rowsIn = (after: number, upTo: number) => page.all(after, upTo) as unknown as SummedRow[]

  /** Under the write lock, so that no sum is of a row that is erased or archived meanwhile. */
  const addSums = (after: number, upTo: number): void =>
    transaction(db, () => {
      for (const row of rowsIn(after, upTo)) if (row.at(-1) === null) addSum.run(row[0], sumOf(sound(row)))
    })

  function requireFound(row: StoredRow): void {
    const [position, stream, revision, , , id, , data, meta] = row
    const places = [byStream.get(stream, revision), byId.get(id)]
    if (places.some((found) => found?.['position'] !== position))
      throw new TypeError(
        `an index does not lead to position ${position} (event ${id}, revision ${revision} of ${stream})`,
      )
    if (isArchivedData(data)) contents.filled({ position, id, data, meta })
  }

  return {
    state() {
      const noted = db.prepare('SELECT position, ended_at AS endedAt FROM scrub').get()
      const head = Number(db.prepare('SELECT max(position) AS head FROM event').get()?.['head'] ?? 0)
      const { position = 0, endedAt = null } = { ...noted } as Partial<
        Pick<ScrubReport, 'position' | 'endedAt'>
      >
      return { position, endedAt, head }
    },
    /** Damage in a slice. */
    slice(after: number, head: number): string[] {
      const upTo = Math.min(after + LIMITS.scrubSliceEvents, head)
      const damage: string[] = []
      const attempt = (what: string, work: () => void): void => {
        try {
          work()
        } catch (error) {
          damage.push(`${what}: ${reasonOf(error)}`)
        }
      }
      attempt(`positions ${after + 1} to ${upTo}`, () => {
        let next = after + 1
        let isSummed = true
        for (const row of rowsIn(after, upTo)) {
          if (row[0] !== next) damage.push(`positions ${next} to ${row[0] - 1} are missing`)
          next = row[0] + 1
          isSummed &&= row.at(-1) !== null
          attempt(`position ${row[0]}`, () => requireFound(sound(row)))
        }
        if (next <= upTo) damage.push(`positions ${next} to ${upTo} are missing`)
        if (!isSummed && damage.length === 0) addSums(after, upTo)
      })
      return damage
    },
    /** SQLite's check of the pages of a small log, for free ones and room within pages, in which no event lies. */
    wholeCheck(): string[] {
      const size = db.prepare(
        'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
      )
      return Number(size.get()?.['bytes']) > WHOLE_CHECK_BYTES ? [] : faultsIn(db, '')
    },
    note: (position: number, endedAt: number | null): void => void note.run(position, endedAt),
    close: () => db.close(),
  }
}

/** Checks of the tables of read models, one after the other: the projector compares the checksums of rows when it reads them. */
export function* readModelChecks(file: string): Generator<() => string[]> {
  for (const rows of [file, ...filesBeside(file)]) yield* tableChecks(rows)
}

function* tableChecks(file: string): Generator<() => string[]> {
  if (!existsSync(file)) return
  // One that was replaced meanwhile is gone, and not damaged.
  const found = (faults: string[]): string[] => (existsSync(file) ? faults : [])
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    for (const { name } of tables) yield () => found(faultsIn(db, `('${String(name)}')`))
  } catch (error) {
    yield () => found([reasonOf(error)])
  } finally {
    db.close()
  }
}

function faultsIn(db: DatabaseSync, table: string): string[] {
  try {
    const found = db.prepare(`PRAGMA integrity_check${table}`).all()
    return found.map(({ integrity_check: fault }) => String(fault)).filter((fault) => fault !== 'ok')
  } catch (error) {
    return [reasonOf(error)]
  }
}
