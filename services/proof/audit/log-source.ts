import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'

/** Where a log is read from. Paths are those of the service, without the first slash: `log/checkpoint`. */
export interface LogSource {
  /** Undefined for what is not there. @throws ServiceError `server_unreachable` */
  get(path: string): Promise<Buffer | undefined>
}

/** Longer than any answer that an audit asks for. */
const MOST_BYTES = 64 * 1024 * 1024

/** @param address of the service */
export function serviceSource(
  address: string,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
): LogSource {
  const base = address.replace(/\/+$/, '')
  return {
    async get(path) {
      try {
        const answer = await fetch(`${base}/${path}`, { signal, redirect: 'error' })
        if (answer.status === 404) return undefined
        if (!answer.ok) throw new Error(`it answers ${answer.status} to /${path}`)
        const bytes = Buffer.from(await answer.arrayBuffer())
        if (bytes.length > MOST_BYTES) throw new Error(`its answer to /${path} is of ${bytes.length} bytes`)
        return bytes
      } catch (cause) {
        throw new ServiceError('server_unreachable', {
          message: `${base} cannot be audited: ${reasonOf(cause)}`,
          cause,
        })
      }
    },
  }
}

/** A copy of a log: every path is a file. */
export const folderSource = (folder: string): LogSource => ({
  async get(path) {
    try {
      return readFileSync(join(folder, fileOf(path)))
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw new ServiceError('server_unreachable', {
        message: `${folder} cannot be audited: ${reasonOf(error)}`,
        cause: error,
      })
    }
  },
})

/** Writes down what another source answers, as {@link folderSource} reads it. */
export const copied = (source: LogSource, folder: string): LogSource => ({
  async get(path) {
    const bytes = await source.get(path)
    if (bytes === undefined) return undefined
    const file = join(folder, fileOf(path))
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, bytes)
    return bytes
  },
})

const fileOf = (path: string): string => path.replace('?', '@').replaceAll(/[^\w./@=&-]/g, encodeURIComponent)
