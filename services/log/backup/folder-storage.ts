import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { syncPath } from '../../runtime/sqlite/sync-path.ts'
import { readBoundedFile } from '../../runtime/sqlite/whole-file.ts'
import { SEGMENT_BYTES, sha256Of } from './manifest.ts'
import { anotherWasFirst, type BackupStorage, type StoredFile, storageFull } from './storage.ts'

const UNFINISHED = '.unfinished'

/** A backup in a folder, for the user of the process only. */
export function openFolderStorage(folder: string): BackupStorage {
  const pathOf = (name: string): string => join(folder, name)

  function get(name: string): Promise<StoredFile | undefined> {
    return attempt(`${pathOf(name)} cannot be read`, async () => {
      const body = await ifThere(async () => readBoundedFile(pathOf(name), SEGMENT_BYTES))
      return body && { body, version: sha256Of(body) }
    })
  }
  function put(name: string, body: Uint8Array): Promise<void> {
    return attempt(`${pathOf(name)} cannot be written`, async () => {
      makePrivateFolder(folder)
      await writeWhole(pathOf(name), body)
    })
  }
  return {
    description: folder,
    get,
    put,
    async replace(name, body, version) {
      await attempt(`${folder} cannot be made`, async () => makePrivateFolder(folder))
      const lock = takeFileLock(pathOf('backup.lock'), 'a backup')
      try {
        if ((await get(name))?.version !== version) throw anotherWasFirst(folder)
        await put(name, body)
        return sha256Of(body)
      } finally {
        lock.release()
      }
    },
    list: (prefix) =>
      attempt(`${folder} cannot be read`, async () => {
        const inner = dirname(`${prefix}.`)
        const names = ((await ifThere(() => readdir(pathOf(inner)))) ?? [])
          .filter((name) => !name.endsWith(UNFINISHED))
          .map((name) => (inner === '.' ? name : `${inner}/${name}`))
          .filter((name) => name.startsWith(prefix))
          .toSorted()
        return Promise.all(names.map(async (name) => ({ name, at: (await stat(pathOf(name))).mtimeMs })))
      }),
    remove: (name) => attempt(`${pathOf(name)} cannot be removed`, () => rm(pathOf(name), { force: true })),
  }
}

async function writeWhole(path: string, body: Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const unfinished = `${path}.${randomBytes(4).toString('hex')}${UNFINISHED}`
  try {
    await writeFile(unfinished, body, { mode: 0o600, flag: 'wx', flush: true })
    await rename(unfinished, path)
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
  syncPath(dirname(path))
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

async function ifThere<Result>(read: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await read()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function attempt<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    const reason = reasonOf(cause)
    if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(codeOf(cause)))
      throw storageFull(`${what}, on its disk`, reason, cause)
    throw new ServiceError('backup_unreachable', { message: `${what}: ${reason}`, cause })
  }
}
