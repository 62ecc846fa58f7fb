import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline as finished } from 'node:stream/promises'
import { crc32, createGunzip } from 'node:zlib'
import { type Entry, openPromise } from 'yauzl'
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'

/** Bytes read and unpacked at a time: what an open file costs in memory, a few times over. */
const CHUNK_BYTES = 262_144

/** A checksum file begins with 64 digits. */
const CHECKSUM_BYTES = 1_024

/**
 * The bytes of a file, unpacked where its name ends in `.gz` or `.zip`. Where a file of the same name and `.CHECKSUM`
 * stands beside it, the file is compared with it first.
 *
 * @param name how messages call the file
 * @throws ServiceError `market_data_damaged`, `market_data_missing`
 */
export async function* readChunks(path: string, name: string): AsyncGenerator<Buffer, void, undefined> {
  try {
    await requireChecksum(path, name)
    if (path.endsWith('.zip')) yield* unzip(path, name)
    else yield* unpack(path)
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

async function* unzip(path: string, name: string): AsyncGenerator<Buffer, void, undefined> {
  const zip = await openPromise(path, { lazyEntries: true, autoClose: false })
  try {
    if (zip.entryCount > LIMITS.zipEntries)
      throw damagedError(name, `the zip archive has ${zip.entryCount} files, more than ${LIMITS.zipEntries}`)
    const tables: Entry[] = []
    for await (const entry of zip.eachEntry()) {
      // macOS puts a file of attributes into a folder of this name, for each file of the archive.
      if (/\.csv$/i.test(entry.fileName) && !entry.fileName.startsWith('__MACOSX/')) tables.push(entry)
    }
    const [entry] = tables
    if (entry === undefined || tables.length > 1)
      throw damagedError(name, `the zip archive has ${tables.length} CSV files; pack one into each archive`)
    requireSize(entry, name)
    let crc = 0
    for await (const chunk of await zip.openReadStreamPromise(entry)) {
      crc = crc32(chunk as Buffer, crc)
      yield chunk as Buffer
    }
    if (crc !== entry.crc32)
      throw damagedError(name, 'the file in the zip archive does not match its checksum; download it again')
  } finally {
    zip.close()
  }
}

/** Before it is unpacked: a small archive can unpack to any size. */
function requireSize({ uncompressedSize, compressedSize }: Entry, name: string): void {
  const { zipEntryBytes, zipRatio } = LIMITS
  if (uncompressedSize > zipEntryBytes)
    throw damagedError(
      name,
      `the file in it has ${uncompressedSize} bytes, more than ${zipEntryBytes}; split it`,
    )
  if (uncompressedSize > zipRatio * compressedSize) {
    const fault = `${compressedSize} bytes unpack to ${uncompressedSize}, more than ${zipRatio} times as many`
    throw damagedError(name, `${fault}; this is not a CSV file of market data`)
  }
}

async function requireChecksum(path: string, name: string): Promise<void> {
  const stated = await text(createReadStream(`${path}.CHECKSUM`, { end: CHECKSUM_BYTES })).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    },
  )
  if (stated === undefined) return
  const expected = /^\s*([0-9a-f]{64})\b/i.exec(stated)?.[1]?.toLowerCase()
  if (expected === undefined)
    throw damagedError(`${name}.CHECKSUM`, 'it does not begin with a SHA-256 checksum; download it again')
  const hash = createHash('sha256')
  await finished(createReadStream(path, { highWaterMark: CHUNK_BYTES }), hash)
  const actual = hash.digest('hex')
  if (actual !== expected)
    throw damagedError(
      name,
      `its SHA-256 checksum is ${actual}, and its .CHECKSUM file says ${expected}; download both again`,
    )
}

const damagedError = (name: string, fault: string, cause?: Error): ServiceError =>
  new ServiceError('market_data_damaged', { message: `${name}: ${fault}`, details: { file: name }, cause })

function unreadableError(path: string, name: string, error: NodeJS.ErrnoException): ServiceError {
  const { code, message } = error
  if (path.endsWith('.zip') && error.syscall === undefined)
    return damagedError(
      name,
      `this is not a sound zip archive (${message}); download or copy it again`,
      error,
    )
  if (code === 'Z_BUF_ERROR')
    return damagedError(name, 'the gzip data ends too early; the file was cut off, so copy it again', error)
  if (code === 'Z_DATA_ERROR') {
    const fault = `this is not sound gzip data (${message}); copy the file again, or name it .csv if it is not packed`
    return damagedError(name, fault, error)
  }
  return new ServiceError('market_data_missing', {
    message: `${name}: the file cannot be read (${message})`,
    details: { file: name },
    cause: error,
  })
}
