import { getHeapStatistics } from 'node:v8'
import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Checkpoint } from '../notes/checkpoint.ts'
import { faultyError, openCheckpoint, type Signature } from '../notes/checkpoint.ts'
import type { Verifier } from '../notes/note-keys.ts'
import { ENTRY_BYTES, entryAt } from '../tree/entry.ts'
import { HASH_BYTES, leafHash, rootOf, subtreesOf } from '../tree/merkle.ts'
import { formatTilePath, TILE_WIDTH, type TileKind, tileWidth } from '../tree/tile-path.ts'
import { type LogSource, readAt } from './log-source.ts'

/** A log whose entries lead to its checkpoint. */
export interface ReadLog {
  readonly checkpoint: Checkpoint
  readonly signatures: readonly Signature[]
  /** Encoded entries of each tile, one after the other: as objects they would take ten times the memory. Emptied with the contents. */
  readonly entries: Buffer[]
  readonly leaves: Buffer
}

type Bundle = Record<'entries' | 'leaves', Buffer>

/** Contents of a tile: the text of each entry, `null` for one that is not shown. */
type Lines = (index: number) => string

/** Memory that an entry takes until its audit has ended, with garbage; of entries, leaves and outcomes 76 are live. */
const BYTES_AN_ENTRY = 250

/**
 * Reads a log whole and checks that its entries lead to the signed root.
 *
 * @param onEntries is called with the number of entries read so far
 * @throws ServiceError `proof_invalid`, `server_unreachable`; `config_invalid` for a tree that memory does not hold
 */
export async function readLog(
  source: LogSource,
  keys: readonly Verifier[],
  onEntries?: (done: number, all: number) => void,
): Promise<ReadLog> {
  const opened = await readAt(source, 'log/checkpoint', (note) => openCheckpoint(note.toString(), keys))
  if (opened === undefined) throw faultyError('there is no checkpoint')
  const { checkpoint, signatures } = opened
  if (checkpoint.size === 0) throw faultyError('the log is empty')
  requireMemory(checkpoint.size)
  const entries: Buffer[] = []
  // Whole from the beginning: parts that are put together at the end take their memory twice.
  const leaves = Buffer.alloc(checkpoint.size * HASH_BYTES)
  let done = 0
  const asked = { kind: 'entries', size: checkpoint.size } as const
  const tiles = tilesOf(source, asked, splitBundle)
  for await (const bundle of tiles) {
    entries.push(bundle.entries)
    leaves.set(bundle.leaves, done * HASH_BYTES)
    done += bundle.leaves.length / HASH_BYTES
    onEntries?.(done, checkpoint.size)
  }
  assert(done === checkpoint.size, 'as many entries are read as the checkpoint names', done)
  const root = rootOf(subtreesOf(leaves), checkpoint.size)
  if (!root.equals(checkpoint.root)) throw faultyError('its entries do not lead to the root that is signed')
  return { checkpoint, signatures, entries, leaves }
}

/** A log may claim any size, and is read whole: that it does not fit is said first. */
function requireMemory(size: number): void {
  const [needed, there] = [size * BYTES_AN_ENTRY, getHeapStatistics().heap_size_limit]
  if (needed <= there) return
  const megabytes = Math.ceil(needed / 1_048_576)
  throw new ServiceError('config_invalid', {
    message: `a tree of ${size} entries is too large to be read here: it takes about ${megabytes} MB of memory, and this process may take ${Math.floor(there / 1_048_576)} MB`,
    nextStep: `Where the machine has that much, set NODE_OPTIONS=--max-old-space-size=${megabytes} and run the same command again.`,
  })
}

/** Contents of each tile with its entries, in their order; the memory of entries is freed on the way. */
export async function* contentTiles(
  source: LogSource,
  { checkpoint: { size }, entries }: ReadLog,
): AsyncGenerator<{ readonly of: Buffer; readonly lineAt: Lines }, void, void> {
  let tile = 0
  for await (const lineAt of tilesOf(source, { kind: 'contents', size }, splitLines)) {
    yield { of: entries[tile] ?? EMPTY, lineAt }
    entries[tile++] = EMPTY
  }
}

const EMPTY = Buffer.alloc(0)

/** Tiles one after the other, each asked for while the one before is read here. @throws ServiceError `proof_invalid` */
async function* tilesOf<Read>(
  source: LogSource,
  { kind, size }: { readonly kind: TileKind; readonly size: number },
  read: (bytes: Buffer, width: number) => Read,
): AsyncGenerator<Read, void, void> {
  async function tileAt(index: number): Promise<Read> {
    const width = tileWidth({ kind, index }, size)
    const path = `log/${formatTilePath({ kind, index, width })}`
    const found = await readAt(source, path, (bytes) => read(bytes, width))
    if (found === undefined) throw faultyError(`/${path} is missing`)
    return found
  }
  let next = tileAt(0)
  for (let index = 1; (index - 1) * TILE_WIDTH < size; index++) {
    const found = await next
    if (index * TILE_WIDTH < size) next = tileAt(index)
    // Its error is thrown when its turn comes; until then nobody awaits it.
    next.catch(() => undefined)
    yield found
  }
}

function splitBundle(bytes: Buffer, width: number): Bundle {
  if (bytes.length !== width * (2 + ENTRY_BYTES))
    throw faultyError('a tile of entries is not as long as it has to be')
  const entries = Buffer.alloc(width * ENTRY_BYTES)
  const leaves = Buffer.alloc(width * HASH_BYTES)
  for (let index = 0; index < width; index++) {
    const at = index * (2 + ENTRY_BYTES) + 2
    const encoded = bytes.subarray(at, at + ENTRY_BYTES)
    entries.set(encoded, index * ENTRY_BYTES)
    if (bytes.readUInt16BE(at - 2) !== ENTRY_BYTES || entryAt(entries, index) === undefined)
      throw faultyError(`entry ${index} of a tile is of no kind that is known here`)
    leaves.set(leafHash(encoded), index * HASH_BYTES)
  }
  return { entries, leaves }
}

/** Each line becomes a text when it is asked for: texts of a whole tile live long enough to be moved among old objects. */
function splitLines(bytes: Buffer, width: number): Lines {
  const starts = [0]
  for (let end = 0; starts.length <= width && end >= 0; ) {
    end = bytes.indexOf(10, starts.at(-1))
    starts.push(end + 1)
  }
  if (starts.at(-1) !== bytes.length || bytes.length === 0)
    throw faultyError('contents are not a line for each entry')
  return (index) => bytes.toString('utf8', starts[index], (starts[index + 1] ?? 0) - 1)
}
