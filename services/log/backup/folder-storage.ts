import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { readBoundedFile, writeWholeFile } from '../../runtime/sqlite/whole-file.ts'
import { SEGMENT_BYTES, sha256Of } from './manifest.ts'
import { anotherWasFirst, type BackupStorage, type StoredFile, storageFull } from './storage.ts'

/** A backup in a folder, for the user of the process only. */
export function openFolderStorage(folder: string): BackupStorage {
  const pathOf = (name: string): string => join(folder, name)

  function get(name: string): StoredFile | undefined {
    return attempt(`${pathOf(name)} cannot be read`, () => {
      const body = ifThere(() => readBoundedFile(pathOf(name), SEGMENT_BYTES))
      return body && { body, version: sha256Of(body) }
    })
  }
  function put(name: string, body: Uint8Array): void {
    attempt(`${pathOf(name)} cannot be written`, () => {
      makePrivateFolder(folder)
      mkdirSync(dirname(pathOf(name)), { recursive: true, mode: 0o700 })
      writeWholeFile(pathOf(name), Buffer.from(body), { mode: 0o600, flush: true })
    })
  }
  return {
    description: folder,
    get: async (name) => get(name),
    put: async (name, body) => put(name, body),
    async replace(name, body, version) {
      attempt(`${folder} cannot be made`, () => makePrivateFolder(folder))
      const lock = takeFileLock(pathOf('backup.lock'), 'a backup')
      try {
        if (get(name)?.version !== version) throw anotherWasFirst(folder)
        put(name, body)
        return sha256Of(body)
      } finally {
        lock.release()
      }
    },
    list: async (prefix) =>
      attempt(`${folder} cannot be read`, () => {
        const inner = dirname(`${prefix}.`)
        const found = ifThere(() => readdirSync(pathOf(inner), { withFileTypes: true })) ?? []
        // A run that was ended may leave a folder.
        return found
          .filter((entry) => entry.isFile())
          .map(({ name }) => (inner === '.' ? name : `${inner}/${name}`))
          .filter((name) => name.startsWith(prefix))
          .toSorted()
          .map((name) => ({ name, at: statSync(pathOf(name)).mtimeMs }))
      }),
    remove: async (name) =>
      attempt(`${pathOf(name)} cannot be removed`, () => rmSync(pathOf(name), { force: true })),
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

function ifThere<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function attempt<Result>(what: string, work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    const reason = reasonOf(cause)
    if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(codeOf(cause)))
      throw storageFull(`${what}, on its disk`, reason, cause)
    throw new ServiceError('backup_unreachable', { message: `${what}: ${reason}`, cause })
  }
}
