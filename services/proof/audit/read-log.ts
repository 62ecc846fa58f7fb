import { getHeapStatistics } from 'node:v8'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { decodeEvent, EVENT_CATALOGUE, type ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import { type Checkpoint, faultyError, openCheckpoint, type Verifier } from '../note.ts'
import { parseContent } from '../proof-file.ts'
import { decodeEntry, ENTRY_BYTES, encodeEntry, entryOf } from '../tree/entry.ts'
import { GrowingTree, leafHash, sha256 } from '../tree/merkle.ts'
import { formatTilePath, TILE_WIDTH, type TileKind, tileWidth } from '../tree/tile-path.ts'
import type { Findings } from './finding.ts'

/** A place to read a log from. Paths are those of the service, without the first slash: `log/checkpoint`. */
export interface LogSource {
  /** Undefined for what is not there. @throws ServiceError `server_unreachable` */
  get(path: string): Promise<Buffer | undefined>
}

export interface LogEntry {
  readonly index: number
  /** Market time from which its content is shown; undefined for a content that is shown. */
  readonly hiddenUntil?: number
  /** Its content, if it is the one that the entry commits to. */
  readonly event?: ServiceEvent | undefined
}

/** Memory that an entry takes until its audit has ended: half of the entries are outcomes, which wait for their bars. */
const BYTES_AN_ENTRY = 250

/**
 * The newest checkpoint of a log, as text and as its signed parts. @throws ServiceError `proof_invalid`,
 * `server_unreachable`; `config_invalid` for a log that memory does not hold
 */
export async function readHead(source: LogSource, keys: readonly Verifier[]) {
  const note = (await source.get('log/checkpoint'))?.toString()
  if (note === undefined) throw faultyError('there is no checkpoint')
  const head = { note, ...openCheckpoint(note, keys) }
  const { size } = head.checkpoint
  if (size === 0) throw faultyError('the log is empty')
  const [needed, limit] = [size * BYTES_AN_ENTRY, getHeapStatistics().heap_size_limit]
  if (needed <= limit) return head
  const megabytes = Math.ceil(needed / 1_048_576)
  const message = `a log of ${size} entries is too large to be audited here: it takes about ${megabytes} MB of memory`
  const nextStep = `If the machine has that much, set NODE_OPTIONS=--max-old-space-size=${megabytes} and run the same command again.`
  throw new ServiceError('config_invalid', { message, nextStep })
}

/**
 * The entries of a log in their order. After the last one they lead to the signed root, and to each earlier checkpoint.
 * @throws ServiceError `proof_invalid` for entries that do not, or that nobody can read; `server_unreachable`
 */
export async function* readEntries(
  source: LogSource,
  { origin, size, root }: Checkpoint,
  earlier: readonly Checkpoint[],
  findings: Findings,
): AsyncGenerator<LogEntry, void, void> {
  const isOther = (message: string): void => findings.add('second_history', null, message)
  for (const one of earlier)
    if (one.origin !== origin) isOther(`it was ${one.origin} before, and is ${origin} now`)
    else if (one.size > size) isOther(`it had ${one.size} entries before, and has ${size} now`)
  const tree = new GrowingTree()
  for (let tile = 0; tile * TILE_WIDTH < size; tile++) {
    for (const { bytes, line } of await readTile(source, tile, size)) {
      tree.add(leafHash(bytes))
      for (const one of earlier)
        if (one.origin === origin && one.size === tree.size && !one.root.equals(tree.root()))
          isOther(`its first ${one.size} entries are not what they were before`)
      yield openEntry(tree.size - 1, bytes, line, findings)
    }
  }
  if (!tree.root().equals(root)) throw faultyError('its entries do not lead to the root that is signed')
}

/** Encoded entries of a tile, each with its content as a line of JSON, `null` for one that is not shown. */
async function readTile(source: LogSource, index: number, size: number) {
  const width = tileWidth({ kind: 'entries', index }, size)
  const read = async (kind: TileKind): Promise<Buffer> => {
    const path = `log/${formatTilePath({ kind, index, width })}`
    return (await source.get(path)) ?? Promise.reject(faultyError(`/${path} is missing`))
  }
  const [bundle, contents] = await Promise.all([read('entries'), read('contents')])
  const lines = contents.toString().split('\n')
  if (lines.length !== width + 1 || lines[width] !== '')
    throw faultyError('contents are not one line for each entry')
  const step = 2 + ENTRY_BYTES
  if (bundle.length !== width * step) throw faultyError('a tile of entries has the wrong length')
  return lines.slice(0, width).map((line, at) => {
    if (bundle.readUInt16BE(at * step) !== ENTRY_BYTES) throw faultyError('an entry has the wrong length')
    return { line, bytes: bundle.subarray(at * step + 2, (at + 1) * step) }
  })
}

function openEntry(index: number, bytes: Buffer, line: string, findings: Findings): LogEntry {
  const entry = decodeEntry(bytes)
  if (entry === undefined) throw faultyError(`entry ${index} has an unknown form`)
  if (line === 'null') return { index, hiddenUntil: entry.opensAt }
  const content = sha256(line).equals(entry.hash) ? parseContent(line) : undefined
  if (content === undefined || !encodeEntry(entryOf(content, line)).equals(bytes)) {
    findings.add('edited_verdict', index, 'it commits to another content than is shown')
    return { index }
  }
  const place = { stream: 'audit', revision: 0, position: String(index), at: '', meta: META }
  const event = decodeEvent({ ...content, ...place })
  const checked = EVENT_CATALOGUE[event.type].data.safeParse(event.data)
  if (checked.success) return { index, event }
  const [issue] = checked.error.issues
  throw faultyError(`entry ${index} is no ${event.type}: ${issue?.path.join('.')}: ${issue?.message}`)
}

const META = { correlationId: 'audit', actor: 'audit' }
