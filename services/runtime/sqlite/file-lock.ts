import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { makePrivate } from './private-files.ts'
import { SQLITE, sqliteCode } from './result-code.ts'
import { writeWholeFile } from './whole-file.ts'

export interface FileLock {
  release(): void
}

/**
 * Keeps a second process off a database. The operating system holds the lock in a small database beside it, so it ends
 * with the process. @throws ServiceError `store_locked`
 */
export function takeFileLock(file: string, what: string): FileLock {
  makePrivate(file)
  const db = new DatabaseSync(file, { timeout: 0 })
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;')
  } catch (error) {
    db.close()
    if (sqliteCode(error) === SQLITE.busy) {
      throw new ServiceError('store_locked', {
        message: `${what} beside ${file} is open in another process${holderBeside(file)}`,
        cause: error,
      })
    }
    throw new ServiceError('store_unavailable', {
      message: `the lock ${file} cannot be taken: ${reasonOf(error)}`,
      cause: error,
    })
  }
  return { release: () => db.close() }
}

/** The file in which a service says where it serves, beside the databases that it holds. */
const SERVING_FILE = 'serving'

/** Notes where a service serves, for processes that find its databases locked. @returns takes the note away */
export function noteServing(directory: string, { url, pid }: { readonly url: string; readonly pid: number }) {
  const note = join(directory, SERVING_FILE)
  writeWholeFile(note, `${url} process ${pid}\n`, { mode: 0o600 })
  return { close: async () => rmSync(note, { force: true }) }
}

/** The service that holds the databases of a folder, by its own word; nothing of one that was killed. */
function holderBeside(file: string): string {
  const note = join(dirname(file), SERVING_FILE)
  const [, said, pid] =
    /^(\S+ process (\d+))\n$/.exec(existsSync(note) ? readFileSync(note, 'utf8') : '') ?? []
  if (said === undefined) return ''
  try {
    process.kill(Number(pid), 0)
    return `: the service at ${said.replace(' ', ', ')}`
  } catch {
    return ''
  }
}
