import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'

type Chunks = AsyncIterable<string | Uint8Array>

/**
 * Writes at the pace of the reader; the stream stays open. A reader that hung up ends it with EPIPE.
 *
 * @throws ServiceError `config_invalid` or `store_full` where it takes no more; what the chunks fail with.
 */
export async function writeToStream(stream: NodeJS.WritableStream, chunks: Chunks): Promise<void> {
  const failed = { by: undefined as unknown }
  async function* noted(): AsyncGenerator<string | Uint8Array, void, void> {
    try {
      yield* chunks
    } catch (error) {
      failed.by = error
      throw error
    }
  }
  try {
    await pipeline(Readable.from(noted(), { objectMode: false }), stream as Writable, { end: false })
  } catch (error) {
    if (error === failed.by || codeOf(error) === 'EPIPE') throw error
    throw cannotWrite('standard output', error)
  }
}

/**
 * Writes a file that appears whole or not at all: under another name beside it, which takes its place when all is
 * written and on the disk. A file of that name is replaced, behind a link too; anything else of that name is not.
 *
 * @param signal when it is aborted, nothing is kept and its reason is thrown.
 * @returns bytes.
 * @throws ServiceError `config_invalid` or `store_full` where it cannot be written; what the chunks fail with.
 */
export async function writeFileWhole(file: string, chunks: Chunks, signal: AbortSignal): Promise<number> {
  const place = await written(file, placeOf(file))
  const unfinished = `${place}.partial-${process.pid}`
  const handle = await written(file, open(unfinished, 'w'))
  let bytes = 0
  try {
    try {
      for await (const chunk of chunks) {
        await written(file, handle.writeFile(chunk))
        bytes += typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length
      }
      signal.throwIfAborted()
      await written(file, handle.sync())
    } finally {
      await handle.close()
    }
    await written(file, rename(unfinished, place))
    return bytes
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
}

/** The path with links followed; renaming would replace a device, a pipe or a link by a file. */
async function placeOf(file: string): Promise<string> {
  const place = await realpath(file).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (place === undefined) return file
  if ((await stat(place)).isFile()) return place
  throw new ServiceError('config_invalid', {
    message: `--out ${file} is no file, and would be replaced by one; name another, or let \`replay\` write to standard output`,
  })
}

/** A failure of the file, told apart from one of what is written to it. */
async function written<Result>(file: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw error instanceof ServiceError ? error : cannotWrite(`--out ${file}`, error)
  }
}

const cannotWrite = (where: string, cause: unknown): ServiceError =>
  new ServiceError(codeOf(cause) === 'ENOSPC' ? 'store_full' : 'config_invalid', {
    message: `${where} cannot be written: ${reasonOf(cause)}`,
    cause,
  })

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined
