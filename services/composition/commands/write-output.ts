import { open, rename, rm } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'

type Chunks = AsyncIterable<string | Uint8Array>

/** Writes at the pace of whoever reads; the stream stays open. A reader that hung up ends it with EPIPE. */
export const writeToStream = (stream: NodeJS.WritableStream, chunks: Chunks): Promise<void> =>
  pipeline(Readable.from(chunks, { objectMode: false }), stream as Writable, { end: false })

/**
 * Writes a file that appears whole or not at all: under another name beside it, which takes its place when all is
 * written and on the disk. A file of that name is replaced.
 *
 * @param signal when it is aborted, nothing is kept and its reason is thrown.
 * @returns bytes.
 * @throws ServiceError `config_invalid` or `store_full` where it cannot be written; what the chunks fail with.
 */
export async function writeFileWhole(file: string, chunks: Chunks, signal: AbortSignal): Promise<number> {
  const unfinished = `${file}.partial-${process.pid}`
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
    await written(file, rename(unfinished, file))
    return bytes
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
}

/** A failure of the file, told apart from one of what is written to it. */
async function written<Result>(file: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    const isFull = error instanceof Error && 'code' in error && error.code === 'ENOSPC'
    throw new ServiceError(isFull ? 'store_full' : 'config_invalid', {
      message: `--out ${file} cannot be written: ${reasonOf(error)}`,
      cause: error,
    })
  }
}
