import { readdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ServiceError } from '../../../contracts/errors.ts'
import { type ArchiveBlock, archivedMark } from './archive-block.ts'
import { archiveFiles, hasArchive } from './archive-tables.ts'
import { archiveFolder, readBlock } from './archived-contents.ts'
import { requireLayout } from './schema.ts'
import { rowsOf } from './stored-row.ts'

export interface CheckedArchive {
  readonly files: number
  readonly events: number
  /** Files that the log does not name, of a run that was ended before it used them: they may go. */
  readonly unused: readonly string[]
}

/**
 * Reads a whole archive, beside the service too: every file is there, and holds what the log says of each event. @throws
 * ServiceError `store_unavailable` for the first file that is missing or damaged
 */
export async function checkArchive(
  file: string,
  options: { readonly signal: AbortSignal; readonly onProgress: (position: number) => void },
): Promise<CheckedArchive> {
  const folder = archiveFolder(file)
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    requireLayout(db)
    const names = new Set(archiveFiles(db))
    if (!hasArchive(db)) return { files: 0, events: 0, unused: [] }
    const kept = db.prepare('SELECT id, data FROM event WHERE position = ?')
    const blocks = db.prepare(
      `SELECT first, last, start, bytes, sha256, name FROM archive_block JOIN archive_file ON id = file
       WHERE first > ? ORDER BY first LIMIT 1`,
    )
    let events = 0
    for (let position = 0; ; ) {
      options.signal.throwIfAborted()
      const block = blocks.get(position) as (ArchiveBlock & { readonly name: string }) | undefined
      if (block === undefined) break
      position = block.first
      for (const [at, line] of readBlock(folder, block)) {
        const [row] = rowsOf(line.toString('utf8'))
        const found = kept.get(at)
        if (row === undefined || found?.id !== row[5] || found.data !== archivedMark(row[7]))
          throw new ServiceError('store_unavailable', {
            message: `${join(folder, block.name)} of the archive is of another log: at position ${at} it holds another event`,
          })
        events += 1
      }
      options.onProgress(block.last)
      // Others have their turn, and Ctrl-C its effect.
      await new Promise((resolve) => setImmediate(resolve))
    }
    const unused = readdirSync(folder).filter((name) => name.endsWith('.zst') && !names.has(name))
    return { files: names.size, events, unused }
  } finally {
    db.close()
  }
}

export interface ArchiveHealth {
  readonly files: number
  readonly missing: number
  /** Why old events cannot be read. */
  readonly problem?: string
}

/** How long the disk of an archive may take to say what it holds. */
const LOOK_MS = 1_000

/** Whether the files that a log names are there; what they hold is looked at by {@link checkArchive}. */
export async function archiveHealth(file: string): Promise<ArchiveHealth> {
  const folder = archiveFolder(file)
  const names = namesIn(file)
  if (names.length === 0) return { files: 0, missing: 0 }
  const late = new Promise<'late'>((resolve) => setTimeout(resolve, LOOK_MS, 'late').unref())
  const listed = await Promise.race([readdir(folder).catch(() => []), late])
  if (listed === 'late')
    return { files: names.length, missing: names.length, problem: `${folder} does not answer` }
  const there = new Set(listed)
  const missing = names.filter((name) => !there.has(name))
  if (missing.length === 0) return { files: names.length, missing: 0 }
  const named = join(folder, missing[0] ?? '')
  const problem = `${missing.length} of ${names.length} files are missing, ${named} among them: what is in them is refused, all else goes on`
  return { files: names.length, missing: missing.length, problem }
}

function namesIn(file: string): readonly string[] {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    return archiveFiles(db)
  } finally {
    db.close()
  }
}
