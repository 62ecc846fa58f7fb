import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { EventMeta, RecordedEvent } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { STORE_IDENTITY_STREAM } from '../../../contracts/streams.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import { eventOf, type StoredRow, textOf } from '../embedded/stored-row.ts'
import type { StoredRows } from '../embedded/stored-rows.ts'
import {
  hashOf,
  MANIFEST_NAME,
  type Manifest,
  parseManifest,
  requireSameLog,
  signedText,
} from './manifest.ts'
import { chained, packSegment, unpackSegment } from './segment.ts'
import type { BackupStorage } from './storage.ts'

export interface BackupOptions {
  readonly rows: StoredRows
  readonly storage: BackupStorage
  /** It signs the manifest. */
  readonly key: Uint8Array
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

/** A file that no manifest names may be of a run that goes on; after so long it is not. */
const LEFT_MS = DAY_MS

/** The manifest as it was read or written last. */
interface Begun {
  readonly manifest: Manifest
  readonly version: string | undefined
}

/**
 * Copies to a storage what it lacks of a log, up to the newest event at the start. Each part is read back before the
 * manifest names it: a run that ends at any moment leaves a whole backup, and the next continues it. Of two runs at once,
 * the one that writes the manifest second ends. @throws ServiceError `store_locked`, `store_mismatch`, `store_full`,
 * `backup_unreachable`, `backup_damaged`
 */
export async function takeBackup(options: BackupOptions): Promise<BackupResult> {
  const { rows, now, signal } = options
  const head = rows.head()
  let begun = await begin(options)
  const before = begun.manifest.segments.length
  let namedAt = now()
  for (let from = begun.manifest.head; from < head; from = begun.manifest.head) {
    if (signal.aborted) break
    const taken = takeSegment(options, from, head)
    assert(taken.first === from + 1, 'segments of a backup join without a hole', taken.first)
    assert(taken.last >= taken.first && taken.last <= head, 'a segment of a backup advances', taken.last)
    begun = { ...begun, manifest: await addSegment(options, begun.manifest, taken) }
    options.onProgress({ position: taken.last, head })
    if (now() - namedAt > NAMED_EVERY_MS) {
      begun = await writeManifest(options, begun)
      namedAt = now()
    }
  }
  const { manifest } = await writeManifest(options, begun)
  assert(signal.aborted || manifest.head >= head, 'a backup goes as far as the log did', manifest.head)
  await removeLeft(options, manifest)
  const segments = manifest.segments.slice(before)
  return {
    manifest,
    segments: segments.length,
    events: segments.reduce((sum, { events }) => sum + events, 0),
    bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}

/** The manifest that is there already, or the beginning of a new one. */
async function begin({ rows, storage, key, now }: BackupOptions): Promise<Begun> {
  const first = rows.find(STORE_IDENTITY_STREAM, 0)
  const identity = first && decodeEvent(recordedOf(first))
  if (first === undefined || identity?.type !== 'LogBegun')
    throw new ServiceError('store_mismatch', {
      message: 'the log is empty, or its first event is not one of this service',
    })
  const logId = first[5]
  const stored = await storage.get(MANIFEST_NAME)
  if (stored === undefined) {
    const { market } = identity.data
    const takenAt = new Date(now()).toISOString()
    const manifest: Manifest = { format: 2, logId, market, head: 0, segments: [], keys: null, takenAt }
    return { manifest, version: undefined }
  }
  const manifest = parseManifest(stored.body.toString('utf8'), key)
  requireSameLog(manifest, logId, storage.description)
  const last = manifest.segments.at(-1)
  const there = last && rows.at(last.last)
  if (last !== undefined && there?.[5] !== last.lastId) {
    throw new ServiceError('store_mismatch', {
      message: `the log was set back: the backup in ${storage.description} goes up to position ${last.last}, and what stands there now is ${there === undefined ? 'nothing' : 'another event'}`,
      nextStep: 'Begin a new backup at another address; keep this one as long as you may need what is in it.',
    })
  }
  return { manifest, version: stored.version }
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
  { rows, storage }: BackupOptions,
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
  await putChecked(storage, name, packed)
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
async function addKeys({ rows, storage }: BackupOptions, manifest: Manifest): Promise<Manifest> {
  const keys = rows.keys(0, manifest.head, Number.MAX_SAFE_INTEGER)
  const counted = manifest.segments.reduce((sum, { events }) => sum + events, keys.length)
  assert(counted === manifest.head, 'a backup has as many events as the log', counted)
  const packed = packSegment(textOf(keys))
  const { sha256 } = packed
  const name = `keys/${sha256}.zst`
  if (manifest.keys?.name !== name) await putChecked(storage, name, packed)
  return { ...manifest, keys: { name, events: keys.length, upTo: manifest.head, sha256 } }
}

async function putChecked(
  storage: BackupStorage,
  name: string,
  { body, sha256 }: { readonly body: Uint8Array; readonly sha256: string },
): Promise<void> {
  await storage.put(name, body)
  const read = await storage.get(name)
  if (read === undefined)
    throw new ServiceError('backup_damaged', {
      message: `${storage.description}: ${name} was written and is not there`,
    })
  unpackSegment(read.body, { name, sha256 })
}

async function writeManifest(options: BackupOptions, { manifest, version }: Begun): Promise<Begun> {
  const { storage, key, now } = options
  const named = { ...(await addKeys(options, manifest)), takenAt: new Date(now()).toISOString() }
  const written = await storage.replace(MANIFEST_NAME, Buffer.from(signedText(named, key)), version)
  // The keys before may hold some that were erased since.
  const former = manifest.keys?.name
  if (former !== undefined && former !== named.keys?.name) await storage.remove(former)
  return { manifest: named, version: written }
}

/** Removes files of runs that ended before the manifest named them. */
async function removeLeft({ storage, now }: BackupOptions, { keys, segments }: Manifest): Promise<void> {
  const named = new Set([keys?.name, ...segments.map(({ name: segment }) => segment)])
  for (const prefix of ['keys/', 'log/'])
    for (const { name, at } of await storage.list(prefix))
      if (!named.has(name) && now() - at > LEFT_MS) await storage.remove(name)
}

const gone = (position: number): ServiceError =>
  new ServiceError('store_unavailable', {
    message: `position ${position} of the log is gone while it is read`,
  })

export function recordedOf(row: StoredRow): RecordedEvent {
  const { data, meta, ...place } = eventOf(row)
  return { ...place, data: JSON.parse(data) as JsonObject, meta: JSON.parse(meta) as EventMeta }
}
