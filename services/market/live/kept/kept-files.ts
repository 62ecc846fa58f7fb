import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { ServiceError } from '../../../../contracts/errors.ts'
import type { Series } from '../../../../contracts/series.ts'
import { timeframeMs } from '../../../../contracts/timeframes.ts'
import { type FileLock, takeFileLock } from '../../../runtime/sqlite/file-lock.ts'
import {
  checkedLine,
  KEPT_HEADER,
  type KeptBar,
  keptLine,
  readCheckedLine,
  readKeptLine,
} from './kept-bar.ts'

/** Bars of one series and one period of time: a day of 1m bars, a month of 1h bars. */
export interface KeptFile {
  readonly folder: string
  /** Without what says how far it is: `BTC-1m-20261122`. */
  readonly name: string
  /** Open of its first bar, and of the first bar after it; Unix milliseconds. */
  readonly from: number
  readonly until: number
}

const DIGITS_OF_DAY = 8
const DIGITS_OF_MONTH = 6

/** The file that a bar belongs to. */
export function keptFile(root: string, { exchange, coin, timeframe }: Series, openTime: number): KeptFile {
  const day = new Date(openTime)
  const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()]
  const isDaily = timeframe === '1m'
  const from = isDaily ? Date.UTC(year, month, day.getUTCDate()) : Date.UTC(year, month)
  const until = isDaily ? Date.UTC(year, month, day.getUTCDate() + 1) : Date.UTC(year, month + 1)
  const digits = new Date(from).toISOString().replaceAll('-', '')
  const period = digits.slice(0, isDaily ? DIGITS_OF_DAY : DIGITS_OF_MONTH)
  return { folder: join(root, exchange.toLowerCase()), name: `${coin}-${timeframe}-${period}`, from, until }
}

const KEPT_NAME =
  /^([A-Z0-9]+-(?:1m|1h)-(\d{4})(\d{2})(\d{2})?)\.(?:part(?:\.[0-9a-z]+)?|csv\.gz|[0-9a-z]+\.tmp)$/

/** The file of which a name in a folder is a piece; undefined for what is not ours. */
export function keptFileNamed(folder: string, entry: string): KeptFile | undefined {
  const [, name, year = '', month = '', day] = KEPT_NAME.exec(entry) ?? []
  if (name === undefined) return undefined
  const [first, index] = [Number(day ?? 1), Number(month) - 1]
  const until =
    day === undefined ? Date.UTC(Number(year), index + 1) : Date.UTC(Number(year), index, first + 1)
  return { folder, name, from: Date.UTC(Number(year), index, first), until }
}

export const sealedPath = ({ folder, name }: KeptFile): string => join(folder, `${name}.csv.gz`)
export const partPath = ({ folder, name }: KeptFile): string => join(folder, `${name}.part`)

const isAbsent = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

async function textOf(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    if (isAbsent(error)) return Buffer.alloc(0)
    throw error
  }
}

/** The names of the pieces that are not sealed yet. */
async function partsOf({ folder, name }: KeptFile): Promise<string[]> {
  try {
    const entries = await readdir(folder)
    return entries.filter((entry) => entry === `${name}.part` || entry.startsWith(`${name}.part.`)).toSorted()
  } catch (error) {
    if (isAbsent(error)) return []
    throw error
  }
}

/**
 * The bars of a file, in order, one per open time: of two the one that was written first, since that is what was
 * computed from. Lines that were cut off, or are of another file, are left out.
 *
 * @throws where a file cannot be read or a sealed one is damaged
 */
export async function readKept(file: KeptFile, parts?: readonly string[]): Promise<KeptBar[]> {
  const bars = new Map<number, KeptBar>()
  const take = (bar: KeptBar | undefined): void => {
    if (bar === undefined || bars.has(bar.openTime)) return
    if (bar.openTime >= file.from && bar.openTime < file.until) bars.set(bar.openTime, bar)
  }
  // Parts first: a sealer removes them only when the sealed file is there, so that one of the two has each bar.
  const texts: Buffer[] = []
  for (const part of parts ?? (await partsOf(file))) texts.push(await textOf(join(file.folder, part)))
  const sealed = await textOf(sealedPath(file))
  if (sealed.length > 0)
    for (const line of gunzipSync(sealed).toString('utf8').split('\n')) take(readKeptLine(line))
  for (const text of texts) for (const line of text.toString('utf8').split('\n')) take(readCheckedLine(line))
  return [...bars.values()].toSorted((a, b) => a.openTime - b.openTime)
}

/**
 * Writes bars after those of the part that is not sealed. A line that somebody left unfinished is ended first. Where another
 * process takes the part away to seal it meanwhile, nobody knows whether it read these bars: they are written again, to the
 * next part, and the sealed file keeps one of the two.
 *
 * @returns when they are written, not when they are on the disk: bars that are lost are fetched again
 */
export async function appendKept(file: KeptFile, bars: readonly KeptBar[]): Promise<void> {
  let isInPlace = false
  while (!isInPlace) isInPlace = await appendOnce(partPath(file), bars)
}

/** Whether the file still had its name once the bars were in it: who renames it later reads them. */
async function appendOnce(path: string, bars: readonly KeptBar[]): Promise<boolean> {
  const part = await open(path, 'a+', 0o600)
  try {
    const { size, dev, ino } = await part.stat()
    const last = size === 0 ? 'none' : (await part.read(Buffer.alloc(1), 0, 1, size - 1)).buffer.toString()
    const before = last === 'none' ? `${KEPT_HEADER}\n` : last === '\n' ? '' : '\n'
    await part.appendFile(before + bars.map(checkedLine).join(''))
    // Its number is given to no other file while this one is open.
    const named = await stat(path).catch((error: unknown) => {
      if (isAbsent(error)) return undefined
      throw error
    })
    return named?.ino === ino && named.dev === dev
  } finally {
    await part.close()
  }
}

/**
 * Makes a sealed file of what is there: in order, without repetition, packed. A process that appends meanwhile begins a new
 * part, which is sealed next time; a crash at any point leaves nothing undone that the next time does not do. While
 * another process seals in the folder nothing is done: two that had read different parts would overwrite each other.
 *
 * @param mark unique to this call: it names the parts taken and the temporary file
 * @throws where it cannot be written, or a sealed file is damaged; what is there stays then
 */
export async function sealKept(file: KeptFile, mark: string): Promise<void> {
  const lock = lockSealing(file)
  if (lock === undefined) return
  try {
    await sealAlone(file, mark)
  } finally {
    lock.release()
  }
}

/** Undefined where another has it. The operating system ends it with the process, however that ends. */
function lockSealing({ folder }: KeptFile): FileLock | undefined {
  try {
    return takeFileLock(`${folder}.lock`, 'the sealing of bars')
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'store_locked') return undefined
    throw error
  }
}

async function sealAlone(file: KeptFile, mark: string): Promise<void> {
  const { folder, name } = file
  await rename(partPath(file), `${partPath(file)}.${mark}`).catch((error: unknown) => {
    if (!isAbsent(error)) throw error
  })
  const parts = (await partsOf(file)).filter((part) => part !== `${name}.part`)
  if (parts.length === 0) return
  const bars = await readKept(file, parts)
  const text = [KEPT_HEADER, ...bars.map(keptLine), ''].join('\n')
  const written = join(folder, `${name}.${mark}.tmp`)
  const sealed = await open(written, 'w', 0o600)
  try {
    await sealed.writeFile(gzipSync(text))
    await sealed.sync()
  } finally {
    await sealed.close()
  }
  await rename(written, sealedPath(file))
  for (const part of parts) await rm(join(folder, part), { force: true })
}

/** How many bars a period has room for. */
export const barsIn = ({ from, until }: KeptFile, timeframe: Series['timeframe']): number =>
  (until - from) / timeframeMs(timeframe)
