import type { DatabaseSync } from 'node:sqlite'
import type { AppendRefusal } from '../decide-append.ts'
import { WAITS_FOR_OTHERS } from './schema.ts'
import { refusalOf } from './sqlite-errors.ts'
import { isErasedData } from './stored-rows.ts'

/**
 * Data and meta of an erased event are blanks, as many as there were bytes: a cell of the same size is written
 * over where it lies, so that no page is put in order anew and leaves a copy behind.
 */
const ERASE = `
  UPDATE event SET data = printf('%*s', octet_length(data), ''), meta = printf('%*s', octet_length(meta), ''), sum = NULL
  WHERE stream = ?`

/** How long the log may stay in use before the erasing has to be repeated; appends wait meanwhile. */
const WAITS_FOR_READERS = 'PRAGMA busy_timeout = 250'

export const isStreamErased = (db: DatabaseSync, stream: string): boolean => {
  const first = db.prepare('SELECT data FROM event WHERE stream = ? LIMIT 1').get(stream)
  return first !== undefined && isErasedData(String(first.data))
}

/**
 * Erases a stream from the file and from the write-ahead log; durable when it returns. @returns why it may not be done;
 * repeating it is safe
 */
export function eraseStream(db: DatabaseSync, stream: string): AppendRefusal | undefined {
  try {
    db.prepare(ERASE).run(stream)
    // A read of another thread that is under way is over in no time.
    db.exec(WAITS_FOR_READERS)
    const checkpoint = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { readonly busy: number }
    if (checkpoint.busy === 0) return undefined
    return {
      code: 'store_unavailable',
      message: `${stream} is erased, but the write-ahead log is in use and keeps its bytes; repeat it`,
    }
  } catch (error) {
    return refusalOf(error, false)
  } finally {
    db.exec(WAITS_FOR_OTHERS)
  }
}
