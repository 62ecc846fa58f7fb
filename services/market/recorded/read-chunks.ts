import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline as run } from 'node:stream/promises'
import { crc32, createGunzip } from 'node:zlib'
import type { Entry } from 'yauzl'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'

/** Bytes read and unpacked at a time: what an open file costs in memory, a few times over. */
const CHUNK_BYTES = 262_144

/** Files in a zip archive, bytes of the one that is read, and how far it may have been packed. */
export const ZIP_LIMITS = { files: 16, bytes: 1_073_741_824, ratio: 200 }

/**
 * The bytes of a file, unpacked where its name ends in `.gz` or `.zip`. Where a file of the same name and `.CHECKSUM`
 * stands beside it, the file is compared with it first.
 *
 * @param name how messages call the file
 * @throws ServiceError `market_data_damaged`, `market_data_missing`
 */
export async function* readChunks(path: string, name: string): AsyncGenerator<Buffer, void, undefined> {
  try {
    await requireChecksum(path)
    yield* path.endsWith('.zip') ? unzip(path) : unpack(path)
  } catch (error) {
    throw isServiceError(error) ? error : unreadableError(path, name, error as NodeJS.ErrnoException)
  }
}

async function* unpack(path: string): AsyncGenerator<Buffer, void, undefined> {
  const file = createReadStream(path, { highWaterMark: CHUNK_BYTES })
  // The pipeline hands an error of either stream to the iterating loop, so its own callback has nothing to do.
  const source = path.endsWith('.gz')
    ? pipeline(file, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined)
    : file
  try {
    for await (const chunk of source) yield chunk as Buffer
  } finally {
    file.destroy()
  }
}

/** A fault of a file, before an error names the file. */
class Damage extends Error {}

async function* unzip(path: string): AsyncGenerator<Buffer, void, undefined> {
  // Loaded with the first archive: most services read none.
  const { openPromise } = await import('yauzl')
  const zip = await openPromise(path, { lazyEntries: true, autoClose: false })
  try {
    const { files, bytes, ratio } = ZIP_LIMITS
    if (zip.entryCount > files)
      throw new Damage(`the zip archive has ${zip.entryCount} files, more than ${files}`)
    const tables: Entry[] = []
    for await (const entry of zip.eachEntry()) {
      // macOS puts a file of attributes into a folder of this name, for each file of the archive.
      if (/\.csv$/i.test(entry.fileName) && !entry.fileName.startsWith('__MACOSX/')) tables.push(entry)
    }
    const [entry] = tables
    if (entry === undefined || tables.length > 1)
      throw new Damage(`the zip archive has ${tables.length} CSV files; pack one into each archive`)
    // Before it is unpacked: a small archive can unpack to any size.
    const { uncompressedSize: size, compressedSize: packed } = entry
    if (size > Math.min(bytes, ratio * packed)) {
      const bounds = `at most ${bytes}, and ${ratio} times as many, are read`
      throw new Damage(`${packed} bytes in the zip archive unpack to ${size}; ${bounds}`)
    }
    let crc = 0
    for await (const chunk of await zip.openReadStreamPromise(entry)) {
      crc = crc32(chunk as Buffer, crc)
      yield chunk as Buffer
    }
    if (crc !== entry.crc32)
      throw new Damage('the file in the zip archive does not match its checksum; download it again')
  } finally {
    zip.close()
  }
}

async function requireChecksum(path: string): Promise<void> {
  const stated = await text(createReadStream(`${path}.CHECKSUM`, { end: 1_023 })).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    },
  )
  if (stated === undefined) return
  const expected = /^\s*([0-9a-f]{64})\b/i.exec(stated)?.[1]?.toLowerCase()
  if (expected === undefined)
    throw new Damage('its .CHECKSUM file does not begin with a SHA-256 checksum; download it again')
  const hash = createHash('sha256')
  await run(createReadStream(path, { highWaterMark: CHUNK_BYTES }), hash)
  const actual = hash.digest('hex')
  if (actual === expected) return
  throw new Damage(
    `its SHA-256 checksum is ${actual}, and its .CHECKSUM file says ${expected}; download both again`,
  )
}

function unreadableError(path: string, name: string, error: NodeJS.ErrnoException): ServiceError {
  const { code, message, syscall } = error
  const isZip = path.endsWith('.zip') && syscall === undefined
  const damage =
    error instanceof Damage
      ? message
      : isZip
        ? `this is not a sound zip archive (${message}); download or copy it again`
        : code === 'Z_BUF_ERROR'
          ? 'the gzip data ends too early; the file was cut off, so copy it again'
          : code === 'Z_DATA_ERROR'
            ? `this is not sound gzip data (${message}); copy the file again, or name it .csv if it is not packed`
            : undefined
  return new ServiceError(damage === undefined ? 'market_data_missing' : 'market_data_damaged', {
    message: `${name}: ${damage ?? `the file cannot be read (${message})`}`,
    details: { file: name },
    cause: error,
  })
}
