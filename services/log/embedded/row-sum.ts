import { crc32 } from 'node:zlib'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { SQLITE, sqliteCode } from '../../runtime/sqlite/result-code.ts'
import type { StoredRow } from './stored-row.ts'

const COLUMNS = 'position, stream, revision, type, schema, id, at'

/** A row as {@link EVENTS} selects it: last the checksum, null where the event was erased. */
export type SummedRow = [...StoredRow, sum: number | null]

/** CRC-32, which differs wherever no more than four neighbouring bytes changed. @param bytes of the data, where at hand */
export const sumOf = (row: StoredRow, bytes: Uint8Array | string = row[7]): number =>
  crc32(`\t${row[8]}`, crc32(bytes, crc32(`${row.slice(0, 7).join('\t')}\t`)))

/** Selects events with their checksums. */
export const EVENTS = `SELECT ${COLUMNS}, data, meta, sum FROM event`

/** Takes the checksum off a row. @throws ServiceError `log_damaged` where the row is not what was written */
export function sound(row: SummedRow): StoredRow {
  const sum = row.pop()
  const event = row as unknown as StoredRow
  if (sum === null || sum === undefined || sum === sumOf(event)) return event
  const [position, stream, revision, , , id] = event
  throw logDamaged(
    `position ${position} (event ${id}, revision ${revision} of ${stream}) is not what was written`,
  )
}

export const logDamaged = (what: string, cause?: unknown): ServiceError =>
  new ServiceError('log_damaged', { message: `the log is damaged: ${what}`, cause })

/** Codes of SQLite for a damaged file, and for one that is no database. */
const DAMAGED: readonly number[] = [SQLITE.corrupt, SQLITE.notADatabase]

export const isDamage = (error: unknown): boolean => DAMAGED.includes(sqliteCode(error))

/** Runs a reading. @throws ServiceError `log_damaged` where SQLite finds that the file is damaged */
export function reading<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    throw isDamage(error) ? logDamaged(reasonOf(error), error) : error
  }
}
