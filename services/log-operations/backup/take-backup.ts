import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { EventMeta, RecordedEvent } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { STORE_IDENTITY_STREAM } from '../../../contracts/streams.ts'
import { eventOf, type StoredRow, textOf } from '../../log/embedded/stored-row.ts'
import type { StoredRows } from '../../log/embedded/stored-rows.ts'
import {
  hashOf,
  MANIFEST_NAME,
  type Manifest,
  parseManifest,
  requireSameLog,
  signedText,
} from './manifest.ts'
import type { BackupPlace, PlaceLock } from './place.ts'
import { chained, damaged, packSegment, sha256Of, unpackSegment } from './segment.ts'
import type { BackupKeys } from './signature.ts'

export interface BackupOptions {
  readonly rows: StoredRows
  readonly place: BackupPlace
  readonly keys: BackupKeys
  /** Wall clock, Unix milliseconds. */
  readonly now: () => number
  readonly signal: AbortSignal
  readonly onProgress: (progress: BackupProgress) => void
  /** Text of a segment, about. */
  readonly segmentBytes?: number
}

export interface BackupProgress {
  readonly position: number
  readonly head: number
}

export interface BackupResult {
  readonly manifest: Manifest
  /** Segments that this run has added. */
  readonly segments: number
  readonly events: number
  readonly bytes: number
}

/** A segment takes so much memory, three times over while it is made. */
const SEGMENT_BYTES = 8 * 1_024 * 1_024
const PAGE_ROWS = 500
/** An event takes about this much besides data and meta. */
const BESIDES_BYTES = 150
/** How often the manifest names what was added: what a run that ends in between has to do again. */
const NAMED_EVERY_MS = 30_000

/**
 * Copies to a place what it lacks of a log, up to the newest event at the start. Each part is read back before the
 * manifest names it: a run that ends at any moment leaves a whole backup, and the next continues it. @throws
 * ServiceError `store_locked`, `store_mismatch`, `store_full`, `backup_unreachable`, `backup_damaged`
 */
export async function takeBackup(options: BackupOptions): Promise<BackupResult> {
  const lock = await options.place.lock()
  try {
    return await copy(options, lock)
  } finally {
    await lock.release()
  }
}

async function copy(options: BackupOptions, lock: PlaceLock): Promise<BackupResult> {
  const { rows, place, now, signal } = options
  const head = rows.head()
  let manifest = await begin(options)
  const before = manifest
  let namedAt = now()
  for (let from = manifest.head; from < head; from = manifest.head) {
    if (signal.aborted) break
    const taken = takeSegment(options, from, head)
    assert(taken.first === manifest.head + 1, 'segments of a backup join without a hole', taken.first)
    assert(taken.last >= taken.first && taken.last <= head, 'a segment of a backup advances', taken.last)
    manifest = await addSegment(options, manifest, taken)
    await lock.renew()
    options.onProgress({ position: manifest.head, head })
    if (now() - namedAt > NAMED_EVERY_MS) {
      manifest = await writeManifest(options, manifest)
      namedAt = now()
    }
  }
  assert(signal.aborted || manifest.head >= head, 'a backup goes as far as the log did', manifest.head)
  manifest = await writeManifest(options, manifest)
  await removeOthers(place, manifest)
  const segments = manifest.segments.slice(before.segments.length)
  return {
    manifest,
    segments: segments.length,
    events: segments.reduce((sum, { events }) => sum + events, 0),
    bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}

/** The manifest that is there already, or the beginning of a new one. */
async function begin({ rows, place, keys, now, signal }: BackupOptions): Promise<Manifest> {
  const first = rows.find(STORE_IDENTITY_STREAM, 0)
  if (first === undefined)
    throw new ServiceError('store_mismatch', { message: 'the log does not say whose it is: it is empty' })
  const identity = decodeEvent(recordedOf(first))
  if (identity.type !== 'LogBegun')
    throw new ServiceError('store_mismatch', {
      message: 'the first event of the log is not one of this service',
    })
  const logId = first[5]
  const text = await place.get(MANIFEST_NAME)
  if (text === undefined) {
    const takenAt = new Date(now()).toISOString()
    return { format: 1, logId, market: identity.data.market, head: 0, segments: [], keys: null, takenAt }
  }
  const { manifest, authenticity } = parseManifest(text.toString('utf8'), keys)
  requireSameLog(manifest, logId, place.description)
  const last = manifest.segments.at(-1)
  const there = last && rows.at(last.last)
  if (last !== undefined && there?.[5] !== last.lastId) {
    throw new ServiceError('store_mismatch', {
      message: `the log was set back: the backup in ${place.description} goes up to position ${last.last}, and what stands there now is ${there === undefined ? 'nothing' : 'another event'}`,
      nextStep: 'Begin a new backup at another address; keep this one as long as you may need what is in it.',
    })
  }
  if (authenticity !== 'authentic') requireOfLog(rows, manifest, signal)
  return manifest
}

/**
 * A manifest without a signature, or with one of a key that was replaced, is compared with the log before it is signed. So
 * backups of former releases come by their signature.
 */
function requireOfLog(rows: StoredRows, { segments }: Manifest, signal: AbortSignal): void {
  for (const segment of segments) {
    signal.throwIfAborted()
    const text = textOf(rows.page(segment.first - 1, segment.last, Number.MAX_SAFE_INTEGER))
    if (sha256Of(text) !== segment.sha256) throw damaged(segment, 'its events are not those of the log')
  }
}

interface TakenSegment {
  readonly rows: readonly StoredRow[]
  readonly first: number
  readonly last: number
}

function takeSegment(
  { rows, segmentBytes = SEGMENT_BYTES }: BackupOptions,
  after: number,
  head: number,
): TakenSegment {
  const taken: StoredRow[] = []
  let bytes = 0
  let last = after
  while (bytes < segmentBytes && last < head) {
    const page = rows.page(last, head, PAGE_ROWS)
    for (const row of page) {
      taken.push(row)
      last = row[0]
      bytes += row[7].length + row[8].length + BESIDES_BYTES
      if (bytes >= segmentBytes) break
    }
    // Behind the last page there may be keys, which are covered too.
    if (page.length < PAGE_ROWS && bytes < segmentBytes) last = head
  }
  return { rows: taken, first: after + 1, last }
}

async function addSegment(
  { rows, place }: BackupOptions,
  manifest: Manifest,
  taken: TakenSegment,
): Promise<Manifest> {
  const newest = rows.at(taken.last)
  if (newest === undefined) throw gone(taken.last)
  const packed = packSegment(textOf(taken.rows))
  const { sha256, bytes } = packed
  assert(
    taken.rows.every(([position]) => position >= taken.first && position <= taken.last),
    'a segment holds the events it names',
    taken.first,
  )
  const range = [taken.first, taken.last].map((at) => String(at).padStart(12, '0')).join('-')
  const name = `log/${range}-${sha256.slice(0, 16)}.zst`
  await putChecked(place, name, packed)
  const hash = chained(hashOf(manifest), sha256)
  const { first, last } = taken
  const entry = { name, first, last, events: taken.rows.length, bytes, sha256, hash }
  return {
    ...manifest,
    head: last,
    segments: [...manifest.segments, { ...entry, lastId: newest[5], lastAt: newest[6] }],
  }
}

/** The keys of subjects as they are now: those that were erased are blank in the log, and so they are here. */
async function addKeys({ rows, place }: BackupOptions, manifest: Manifest): Promise<Manifest> {
  const keys = rows.keys(0, manifest.head, Number.MAX_SAFE_INTEGER)
  const counted = manifest.segments.reduce((sum, { events }) => sum + events, keys.length)
  assert(counted === manifest.head, 'a backup has as many events as the log', counted)
  const packed = packSegment(textOf(keys))
  const { sha256 } = packed
  const name = `keys/${sha256}.zst`
  if (manifest.keys?.name !== name) await putChecked(place, name, packed)
  return { ...manifest, keys: { name, events: keys.length, upTo: manifest.head, sha256 } }
}

async function putChecked(
  place: BackupPlace,
  name: string,
  { body, sha256 }: { readonly body: Uint8Array; readonly sha256: string },
): Promise<void> {
  await place.put(name, body)
  const read = await place.get(name)
  if (read === undefined)
    throw new ServiceError('backup_damaged', {
      message: `${place.description}: ${name} was written and is not there`,
    })
  unpackSegment(read, { name, sha256 })
}

async function writeManifest(options: BackupOptions, manifest: Manifest): Promise<Manifest> {
  const named = { ...(await addKeys(options, manifest)), takenAt: new Date(options.now()).toISOString() }
  await options.place.put(MANIFEST_NAME, Buffer.from(signedText(named, options.keys)))
  return named
}

/** Older keys may hold some that were erased since; segments that nobody names are of runs that ended in between. */
async function removeOthers(place: BackupPlace, { keys, segments }: Manifest): Promise<void> {
  const named = new Set([keys?.name, ...segments.map(({ name: segment }) => segment)])
  for (const prefix of ['keys/', 'log/'])
    for (const file of await place.list(prefix)) if (!named.has(file)) await place.remove(file)
}

const gone = (position: number): ServiceError =>
  new ServiceError('store_unavailable', {
    message: `position ${position} of the log is gone while it is read`,
  })

export function recordedOf(row: StoredRow): RecordedEvent {
  const { data, meta, ...place } = eventOf(row)
  return { ...place, data: JSON.parse(data) as JsonObject, meta: JSON.parse(meta) as EventMeta }
}
