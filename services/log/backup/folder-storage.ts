import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { syncPath } from '../../runtime/sqlite/sync-path.ts'
import { readBoundedFile } from '../../runtime/sqlite/whole-file.ts'
import { anotherWasFirst, SEGMENT_BYTES, sha256Of } from './segment.ts'
import type { BackupStorage, StoredFile } from './storage.ts'

const UNFINISHED = '.unfinished'

/** A backup in a folder, for the user of the process only. */
export function openFolderStorage(folder: string): BackupStorage {
  const pathOf = (name: string): string => join(folder, name)
  const get = async (name: string): Promise<StoredFile | undefined> =>
    attempt(`${pathOf(name)} cannot be read`, async () => {
      const body = await ifThere(async () => readBoundedFile(pathOf(name), SEGMENT_BYTES))
      return body && { body, version: sha256Of(body) }
    })
  const put = (name: string, body: Uint8Array): Promise<void> =>
    attempt(`${pathOf(name)} cannot be written`, async () => {
      makePrivateFolder(folder)
      await putWhole(pathOf(name), body)
    })
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
        const names = (await ifThere(() => readdir(pathOf(inner)))) ?? []
        const found = names
          .filter((name) => !name.endsWith(UNFINISHED))
          .map((name) => (inner === '.' ? name : `${inner}/${name}`))
          .filter((name) => name.startsWith(prefix))
          .toSorted()
        return Promise.all(found.map(async (name) => ({ name, at: (await stat(pathOf(name))).mtimeMs })))
      }),
    remove: (name) => attempt(`${pathOf(name)} cannot be removed`, () => rm(pathOf(name), { force: true })),
  }
}

async function putWhole(path: string, body: Uint8Array): Promise<void> {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const unfinished = join(folder, `${basename(path)}.${randomBytes(4).toString('hex')}${UNFINISHED}`)
  try {
    await writeFile(unfinished, body, { mode: 0o600, flag: 'wx', flush: true })
    await rename(unfinished, path)
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
  syncPath(folder)
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined

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
    const code = codeOf(cause)
    if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG')
      throw new ServiceError('store_full', {
        message: `${what}: its disk is full (${reasonOf(cause)})`,
        nextStep: 'Free space there and run the same command again: it goes on where it was.',
        cause,
      })
    throw new ServiceError('backup_unreachable', { message: `${what}: ${reasonOf(cause)}`, cause })
  }
}
