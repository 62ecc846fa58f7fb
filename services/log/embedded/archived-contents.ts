import { closeSync, openSync, readSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { type ArchiveBlock, isArchivedData, unpackBlock } from './archive-block.ts'
import { rowsOf } from './stored-row.ts'

/** The archive of a log: a folder beside it, or a link to one. */
export const archiveFolder = (file: string): string => join(dirname(file), 'archive')

/** Bytes of blocks that stay unpacked: series are read side by side, each from the same blocks. */
const KEPT_BYTES = 32 * 1_024 * 1_024

interface Row {
  readonly position: number
  readonly id: string
  readonly data: string
  readonly meta: string
}

export type ArchivedContents = ReturnType<typeof openArchivedContents>

type NamedBlock = ArchiveBlock & { readonly name: string }

interface Kept {
  readonly first: number
  readonly last: number
  readonly lines: ReadonlyMap<number, Buffer>
}

/**
 * The one place below all who read a log at which events that were archived get back what they say. A block is unpacked
 * once for those who read in order.
 */
export function openArchivedContents(db: DatabaseSync, folder: string) {
  const kept = new RecentMap<number, Kept>(Number.POSITIVE_INFINITY, {
    bytes: { most: KEPT_BYTES, of: (_first, { lines }) => sizeOf(lines) },
  })
  let newest: Kept | undefined
  let statement: StatementSync | undefined

  function find(position: number): NamedBlock {
    // Prepared when it is needed first: a log that was never archived has no such table.
    statement ??= db.prepare(
      `SELECT first, last, start, bytes, sha256, name FROM archive_block JOIN archive_file ON id = file
       WHERE first <= ? ORDER BY first DESC LIMIT 1`,
    )
    const found = statement.get(position) as NamedBlock | undefined
    if (found !== undefined && found.last >= position) return found
    throw new ServiceError('store_unavailable', {
      message: `position ${position} of the log is archived, and no file of the archive holds it`,
      nextStep: RESTORE,
    })
  }

  function load(position: number): Kept {
    const place = find(position)
    const { first, last } = place
    newest = kept.get(first) ?? { first, last, lines: readBlock(folder, place) }
    kept.set(first, newest)
    return newest
  }

  return {
    /** The row with its data and meta. @throws ServiceError `store_unavailable` where their file is away or damaged */
    filled<Found extends Row>(row: Found): Found {
      if (!isArchivedData(row.data)) return row
      const { position } = row
      const isNear = newest !== undefined && position >= newest.first && position <= newest.last
      const line = (isNear && newest !== undefined ? newest : load(position)).lines.get(position)
      const [found] = line === undefined ? [] : rowsOf(line.toString('utf8'))
      if (found?.[5] === row.id) return { ...row, data: found[7], meta: found[8] }
      throw damaged(join(folder, find(position).name), `it does not hold position ${position} of this log`)
    },
  }
}

const sizeOf = (lines: ReadonlyMap<number, Buffer>): number =>
  [...lines.values()].reduce((sum, { length }) => sum + length, 0)

/** Reads a block, and finds that it is what was written. @throws ServiceError `store_unavailable` */
export function readBlock(folder: string, { name, start, bytes, sha256 }: NamedBlock) {
  const path = join(folder, name)
  const body = Buffer.alloc(bytes)
  let read: number
  try {
    const handle = openSync(path, 'r')
    try {
      read = readSync(handle, body, 0, bytes, start)
    } finally {
      closeSync(handle)
    }
  } catch (error) {
    throw new ServiceError('store_unavailable', {
      message: `${path} of the archive cannot be read: ${reasonOf(error)}`,
      nextStep:
        'Bring the folder of the archive back (mount its disk), or put the file there again from a copy of it; `signal archive --check` reads all of it (docs/archiving.md).',
      cause: error,
    })
  }
  if (read < bytes) throw damaged(path, `it ends at ${start + read}, within a block`)
  try {
    return unpackBlock(body, sha256)
  } catch (error) {
    throw damaged(path, `at ${start}, ${reasonOf(error)}`, error)
  }
}

const RESTORE =
  'Put the file there again from a copy of it, or restore the log from a backup (docs/archiving.md); `signal archive --check` reads all of the archive.'

const damaged = (path: string, why: string, cause?: unknown): ServiceError =>
  new ServiceError('store_unavailable', {
    message: `${path} of the archive is damaged: ${why}`,
    nextStep: RESTORE,
    cause,
  })
