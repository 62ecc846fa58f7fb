import { DAY_MS } from '../../../contracts/domain/timeframes.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import { STORE_IDENTITY_STREAM } from '../../../contracts/events/streams.ts'
import type { EventMeta, RecordedEvent } from '../../../contracts/infra/event.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { eventOf, type StoredRow, type StoredRows, textOf } from '../embedded/stored-rows.ts'
import {
  chained,
  hashOf,
  MANIFEST_NAME,
  type Manifest,
  packSegment,
  parseManifest,
  signedText,
  unpackSegment,
} from './manifest.ts'
import type { BackupAccess, BackupProgress } from './read-backup.ts'
import type { BackupStorage } from './storage.ts'

export interface BackupOptions extends BackupAccess {
  readonly rows: StoredRows
  readonly now: () => number
  readonly onProgress: (progress: BackupProgress) => void
  readonly segmentBytes?: number
}

/** A segment takes so much memory, three times over while it is made. */
const SEGMENT_BYTES = 8 * 1_024 * 1_024
const PAGE_ROWS = 500
/** Each page of keys is looked for in the index of all streams. */
const PAGE_KEYS = 20_000
/** An event takes about this much besides data and meta. */
const OTHER_BYTES = 150
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
export async function takeBackup(options: BackupOptions) {
  const { rows, now, signal, segmentBytes = SEGMENT_BYTES } = options
  const head = rows.head()
  let begun = await begin(options)
  const before = begun.manifest.segments.length
  let namedAt = now()
  for (let from = begun.manifest.head; from < head; from = begun.manifest.head) {
    if (signal.aborted) break
    const taken = segmentOf(rows.page, [from, head], segmentBytes, PAGE_ROWS)
    assert(taken.first === from + 1, 'segments of a backup join without a hole', taken.first)
    assert(taken.last > from && taken.last <= head, 'a segment of a backup advances', taken.last)
    begun = { ...begun, manifest: await addSegment(options, begun.manifest, taken) }
    options.onProgress({ position: taken.last, head })
    if (now() - namedAt <= NAMED_EVERY_MS) continue
    begun = await writeManifest(options, begun)
    namedAt = now()
  }
  const { manifest } = await writeManifest(options, begun)
  assert(signal.aborted || manifest.head >= head, 'a backup goes as far as the log did', manifest.head)
  const unremoved = await removeLeft(options, manifest).then(() => undefined, reasonOf)
  const segments = manifest.segments.slice(before)
  const sum = (of: 'events' | 'bytes'): number => segments.reduce((all, segment) => all + segment[of], 0)
  return {
    manifest,
    segments: segments.length,
    events: sum('events'),
    bytes: sum('bytes'),
    /** Why files that the manifest no longer names could not be removed. */
    unremoved,
  }
}

/** The manifest that is there already, or the beginning of a new one. */
async function begin({ rows, storage, key, now }: BackupOptions): Promise<Begun> {
  const first = rows.find(STORE_IDENTITY_STREAM, 0)
  const identity = first && decodeEvent(recordedOf(first))
  if (first === undefined || identity?.type !== 'LogBegun')
    throw mismatch('the log is empty, or its first event is not one of this service')
  const logId = first[5]
  const stored = await storage.get(MANIFEST_NAME)
  if (stored === undefined) {
    const { market } = identity.data
    const takenAt = new Date(now()).toISOString()
    const manifest: Manifest = { format: 3, logId, market, head: 0, segments: [], keys: [], takenAt }
    return { manifest, version: undefined }
  }
  const manifest = parseManifest(stored.body.toString('utf8'), key)
  if (manifest.logId !== logId)
    throw mismatch(
      `${storage.description} holds the backup of another log (${manifest.logId}, and this one is ${logId})`,
      'Give each log an address of its own.',
    )
  const last = manifest.segments.at(-1)
  const there = last && rows.at(last.last)
  if (last !== undefined && there?.[5] !== last.lastId)
    throw mismatch(
      `the log was set back: the backup in ${storage.description} goes up to position ${last.last}, and what stands there now is ${there === undefined ? 'nothing' : 'another event'}`,
      'Begin a new backup at another address; keep this one as long as you may need what is in it.',
    )
  return { manifest, version: stored.version }
}

const mismatch = (message: string, nextStep?: string): ServiceError =>
  new ServiceError('store_mismatch', { message, ...(nextStep !== undefined && { nextStep }) })

type TakenRows = ReturnType<typeof segmentOf>

/** The rows after a position that make up a segment; it covers what lies behind the last of them, too. */
function segmentOf(
  page: StoredRows['page'],
  [after, head]: readonly [number, number],
  mostBytes: number,
  pageRows: number,
) {
  const rows: StoredRow[] = []
  let bytes = 0
  let last = after
  while (bytes < mostBytes && last < head) {
    const found = page(last, head, pageRows)
    for (const row of found) {
      rows.push(row)
      last = row[0]
      bytes += row[7].length + row[8].length + OTHER_BYTES
      if (bytes >= mostBytes) break
    }
    if (found.length < pageRows && bytes < mostBytes) last = head
  }
  return { rows, first: after + 1, last }
}

async function addSegment(
  { rows, storage }: BackupOptions,
  manifest: Manifest,
  { rows: taken, first, last }: TakenRows,
): Promise<Manifest> {
  const newest = rows.at(last)
  if (newest === undefined)
    throw new ServiceError('store_unavailable', {
      message: `position ${last} of the log is gone while it is read`,
    })
  const isWithin = taken.every(([position]) => position >= first && position <= last)
  assert(isWithin, 'a segment holds the events it names', first)
  const range = [first, last].map((at) => String(at).padStart(12, '0')).join('-')
  const { sha256, bytes, name } = await putChecked(
    storage,
    taken,
    (hash) => `log/${range}-${hash.slice(0, 16)}.zst`,
  )
  const hash = chained(hashOf(manifest), sha256)
  const entry = { name, first, last, events: taken.length, bytes, sha256, hash }
  const segments = [...manifest.segments, { ...entry, lastId: newest[5], lastAt: newest[6] }]
  return { ...manifest, head: last, segments }
}

/** The keys of subjects as they are now: those that were erased are blank in the log, and so they are here. */
async function addKeys(
  { rows, storage, segmentBytes = SEGMENT_BYTES }: BackupOptions,
  manifest: Manifest,
): Promise<Manifest> {
  const { head } = manifest
  const known = new Map(manifest.keys.map((entry) => [entry.sha256, entry]))
  const keys: Manifest['keys'] = []
  for (let from = 0; from < head; ) {
    const taken = segmentOf(rows.keys, [from, head], segmentBytes, PAGE_KEYS)
    from = taken.last
    if (taken.rows.length === 0) continue
    const { sha256, name } = await putChecked(storage, taken.rows, (hash) => `keys/${hash}.zst`, known)
    keys.push({ name, events: taken.rows.length, sha256 })
  }
  const counted = [...manifest.segments, ...keys].reduce((sum, { events }) => sum + events, 0)
  assert(counted === head, 'a backup has as many events as the log', counted)
  return { ...manifest, keys }
}

/** Writes rows, unless they are known to be there, and reads them back. */
async function putChecked(
  storage: BackupStorage,
  rows: readonly StoredRow[],
  nameOf: (sha256: string) => string,
  known?: ReadonlyMap<string, unknown>,
) {
  const { body, sha256, bytes } = packSegment(textOf(rows))
  const name = nameOf(sha256)
  if (known?.has(sha256) === true) return { name, sha256, bytes }
  await storage.put(name, body)
  const read = await storage.get(name)
  if (read === undefined)
    throw new ServiceError('backup_damaged', {
      message: `${storage.description}: ${name} was written and is not there`,
    })
  unpackSegment(read.body, { name, sha256 })
  return { name, sha256, bytes }
}

async function writeManifest(options: BackupOptions, { manifest, version }: Begun): Promise<Begun> {
  const { storage, key, now } = options
  const named = { ...(await addKeys(options, manifest)), takenAt: new Date(now()).toISOString() }
  const written = await storage.replace(MANIFEST_NAME, Buffer.from(signedText(named, key)), version)
  // The keys before may hold some that were erased since.
  const kept = new Set(named.keys.map(({ name }) => name))
  for (const { name } of manifest.keys) if (!kept.has(name)) await storage.remove(name)
  return { manifest: named, version: written }
}

/** Removes files of runs that ended before the manifest named them. */
async function removeLeft({ storage, now }: BackupOptions, { keys, segments }: Manifest): Promise<void> {
  const named = new Set([...keys, ...segments].map(({ name }) => name))
  for (const prefix of ['keys/', 'log/'])
    for (const { name, at } of await storage.list(prefix))
      if (!named.has(name) && now() - at > LEFT_MS) await storage.remove(name)
}

export function recordedOf(row: StoredRow): RecordedEvent {
  const { data, meta, ...place } = eventOf(row)
  return { ...place, data: JSON.parse(data) as JsonObject, meta: JSON.parse(meta) as EventMeta }
}
