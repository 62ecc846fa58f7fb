import type { Checkpoint } from '../notes/checkpoint.ts'
import { faultyError, openCheckpoint, type Signature } from '../notes/checkpoint.ts'
import type { Verifier } from '../notes/note-keys.ts'
import { decodeEntry, ENTRY_BYTES, type Entry } from '../tree/entry.ts'
import { type Hash, hashesOver, leafHash, rootOf } from '../tree/merkle.ts'
import { formatTilePath, TILE_WIDTH, type TileKind } from '../tree/tile-path.ts'
import type { LogSource } from './log-source.ts'

/** A log whose entries lead to its checkpoint. */
export interface ReadLog {
  readonly checkpoint: Checkpoint
  readonly signatures: readonly Signature[]
  readonly entries: readonly Entry[]
  readonly leaves: readonly Hash[]
}

/** Larger trees are audited from a copy on disk, in parts. */
const MOST_ENTRIES = 50_000_000

/** @throws ServiceError `proof_invalid`, `server_unreachable` */
export async function readLog(source: LogSource, keys: readonly Verifier[]): Promise<ReadLog> {
  const note = await source.get('log/checkpoint')
  if (note === undefined) throw faultyError('there is no checkpoint')
  const { checkpoint, signatures } = openCheckpoint(note.toString(), keys)
  if (checkpoint.size > MOST_ENTRIES)
    throw faultyError(`a tree of ${checkpoint.size} entries is too large to be read here`)
  const entries: Entry[] = []
  const leaves: Hash[] = []
  for await (const { bytes, width } of tilesOf(source, 'entries', checkpoint.size)) {
    for (const entry of splitBundle(bytes, width)) {
      leaves.push(leafHash(entry))
      const decoded = decodeEntry(entry)
      if (decoded === undefined) throw faultyError(`entry ${entries.length} is of no kind that is known here`)
      entries.push(decoded)
    }
  }
  const root = rootOf(hashesOver(leaves), checkpoint.size)
  if (!root.equals(checkpoint.root)) throw faultyError('its entries do not lead to the root that is signed')
  return { checkpoint, signatures, entries, leaves }
}

/** Lines of contents in the order of entries, empty for those that are not there. */
export async function* contentLines(
  source: LogSource,
  size: number,
): AsyncGenerator<readonly string[], void, void> {
  for await (const { bytes, width } of tilesOf(source, 'contents', size)) {
    const lines = bytes.toString().split('\n')
    if (lines.length !== width + 1 || lines.at(-1) !== '')
      throw faultyError('contents are not a line for each entry')
    yield lines.slice(0, -1)
  }
}

async function* tilesOf(source: LogSource, kind: TileKind, size: number) {
  for (let index = 0; index * TILE_WIDTH < size; index++) {
    const width = Math.min(TILE_WIDTH, size - index * TILE_WIDTH)
    const path = formatTilePath({ kind, index, width })
    const bytes = await source.get(`log/${path}`)
    if (bytes === undefined) throw faultyError(`/log/${path} is missing`)
    yield { bytes, width }
  }
}

function* splitBundle(bytes: Buffer, width: number): Generator<Buffer, void, void> {
  if (bytes.length !== width * (2 + ENTRY_BYTES))
    throw faultyError('a tile of entries is not as long as it has to be')
  for (let at = 0; at < bytes.length; at += 2 + ENTRY_BYTES)
    yield bytes.subarray(at + 2, at + 2 + ENTRY_BYTES)
}
