import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { syncPath } from '../../runtime/sqlite/sync-path.ts'
import { readBoundedFile } from '../../runtime/sqlite/whole-file.ts'
import type { BackupPlace } from './place.ts'
import { SEGMENT_BYTES } from './segment.ts'

const UNFINISHED = '.unfinished'

/** A backup in a folder, for the user of the process only. */
export function openFolderPlace(folder: string): BackupPlace {
  const pathOf = (name: string): string => join(folder, name)

  async function attempt<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      throw failure(what, error)
    }
  }

  async function get(name: string): Promise<Buffer | undefined> {
    try {
      return readBoundedFile(pathOf(name), SEGMENT_BYTES)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw failure(`${pathOf(name)} cannot be read`, error)
    }
  }

  return {
    description: folder,
    get,
    put: (name, body) => attempt(`${pathOf(name)} cannot be written`, () => putWhole(pathOf(name), body)),
    list: (prefix) =>
      attempt(`${folder} cannot be read`, async () => {
        const inner = prefix.slice(0, Math.max(prefix.lastIndexOf('/'), 0))
        const names = await readdir(pathOf(inner)).catch((error: unknown) => {
          if (codeOf(error) === 'ENOENT') return []
          throw error
        })
        return names
          .filter((name) => !name.endsWith(UNFINISHED))
          .map((name) => (inner === '' ? name : `${inner}/${name}`))
          .filter((name) => name.startsWith(prefix))
          .toSorted()
      }),
    remove: (name) =>
      attempt(`${pathOf(name)} cannot be removed`, async () => {
        await rm(pathOf(name), { force: true })
      }),
    async lock() {
      await attempt(`${folder} cannot be made`, async () => makePrivateFolder(folder))
      const lock = takeFileLock(pathOf('backup.lock'), 'a backup')
      return { renew: async () => undefined, release: async () => lock.release() }
    },
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

function failure(what: string, error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  const code = codeOf(error)
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') {
    return new ServiceError('store_full', {
      message: `${what}: its disk is full (${reasonOf(error)})`,
      nextStep: 'Free space there and run the same command again: it goes on where it was.',
      cause: error,
    })
  }
  return new ServiceError('backup_unreachable', { message: `${what}: ${reasonOf(error)}`, cause: error })
}
