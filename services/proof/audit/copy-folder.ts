import { hash } from 'node:crypto'
import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { readBoundedFile, writeWholeFile } from '../../runtime/sqlite/whole-file.ts'

/** A folder in which each path of a log is a file. Nothing is read or written outside of it. */
export function openCopyFolder(folder: string) {
  /** The real place of a path, all links followed; its folder has to exist. */
  function placeOf(path: string): string {
    const root = realpathSync(folder)
    const file = join(folder, fileOf(path))
    const place = join(realpathSync(dirname(file)), basename(file))
    return requireInside(root, existsSync(place) ? realpathSync(place) : place)
  }

  function attempt<Result>(what: string, work: () => Result): Result {
    try {
      return work()
    } catch (cause) {
      if (cause instanceof ServiceError) throw cause
      throw new ServiceError('config_invalid', {
        message: `the copy ${folder} ${what}: ${reasonOf(cause)}`,
        nextStep: 'Name a folder that can be read and written.',
        cause,
      })
    }
  }

  return {
    /**
     * Undefined for what is not there.
     *
     * @throws ServiceError `config_invalid` for a file that cannot be read, is too large, or lies elsewhere
     */
    read: (path: string, mostBytes: number): Buffer | undefined =>
      attempt('cannot be read', () => {
        try {
          return readBoundedFile(placeOf(path), mostBytes)
        } catch (error) {
          if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
          throw error
        }
      }),
    /**
     * The file is there whole or not at all.
     *
     * @throws ServiceError `config_invalid` where it cannot be written, or would lie elsewhere
     */
    write: (path: string, bytes: Buffer): void =>
      attempt('cannot be written', () => {
        const parent = dirname(join(folder, fileOf(path)))
        mkdirSync(folder, { recursive: true })
        // Folders are made one by one: `recursive` would follow a link that leads elsewhere.
        for (const at of ancestors(folder, parent)) {
          if (!existsSync(at)) mkdirSync(at)
          requireInside(realpathSync(folder), realpathSync(at))
        }
        // A link that bears its name is replaced, and not followed.
        writeWholeFile(join(parent, basename(fileOf(path))), bytes)
      }),
  }
}

/** Folders between two, the outermost first. */
function ancestors(from: string, to: string): string[] {
  const parts = relative(from, to).split(sep)
  return parts.map((_, at) => join(from, ...parts.slice(0, at + 1)))
}

/** @throws Error for a place that is not in the folder */
function requireInside(folder: string, place: string): string {
  const way = relative(folder, place)
  if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way))
    throw new Error(`${place} is not in ${folder}`)
  return place
}

/** File systems take names of 255 bytes. */
const LONGEST_NAME = 200

/** Only the slashes in front of the query make folders; what comes after it is part of the last name. */
function fileOf(path: string): string {
  const [place = '', ...query] = path.split('?')
  const parts = place.split('/').map(nameOf)
  const asked = query.length === 0 ? '' : `@${nameOf(query.join('?'))}`
  const names = [...parts.slice(0, -1), `${parts.at(-1)}${asked}`]
  return join(...names.map((name) => (name.length > LONGEST_NAME ? hash('sha256', name) : name)))
}

const nameOf = (part: string): string =>
  /^\.{0,2}$/.test(part)
    ? part.replaceAll('.', '%2E') || '%'
    : part.replaceAll(/[^\w.=&-]/gu, (one) => encodeURIComponent(one))
