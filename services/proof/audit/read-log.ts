import { getHeapStatistics } from 'node:v8'
import { ServiceError } from '../../../contracts/errors.ts'
import { type Checkpoint, faultyError, openCheckpoint, type Verifier } from '../note.ts'
import { ENTRY_BYTES } from '../tree/entry.ts'
import { GrowingTree, leafHash } from '../tree/merkle.ts'
import { formatTilePath, TILE_WIDTH, type TileKind, tileWidth } from '../tree/tile-path.ts'
import type { Findings } from './finding.ts'
import type { LogSource } from './log-source.ts'

/** A tile of the log: encoded entries, and the content of each as JSON, `null` for one that is not shown. */
interface LogTile {
  readonly entries: readonly Buffer[]
  readonly lines: readonly Buffer[]
}

/** Memory that an entry takes until its audit has ended: half of the entries are outcomes, which wait for their bars. */
const BYTES_AN_ENTRY = 150

/**
 * The newest checkpoint of a log, as text and as its signed parts.
 *
 * @throws ServiceError `proof_invalid`, `server_unreachable`; `config_invalid` for a log that memory does not hold
 */
export async function readHead(source: LogSource, keys: readonly Verifier[]) {
  const note = (await source.get('log/checkpoint'))?.toString()
  if (note === undefined) throw faultyError('there is no checkpoint')
  const head = { note, ...openCheckpoint(note, keys) }
  if (head.checkpoint.size === 0) throw faultyError('the log is empty')
  requireMemory(head.checkpoint.size)
  return head
}

/** A log may claim any size. */
function requireMemory(size: number): void {
  const [needed, limit] = [size * BYTES_AN_ENTRY, getHeapStatistics().heap_size_limit]
  if (needed <= limit) return
  const megabytes = Math.ceil(needed / 1_048_576)
  throw new ServiceError('config_invalid', {
    message: `a log of ${size} entries is too large to be audited here: it takes about ${megabytes} MB of memory, and this process may take ${Math.floor(limit / 1_048_576)} MB`,
    nextStep: `If the machine has that much, set NODE_OPTIONS=--max-old-space-size=${megabytes} and run the same command again.`,
  })
}

/**
 * The tiles of a log in their order. After the last one their entries lead to the signed root, and to each earlier checkpoint.
 *
 * @throws ServiceError `proof_invalid` if the entries do not lead to the signed root; `server_unreachable`
 */
export async function* readTiles(
  source: LogSource,
  { origin, size, root }: Checkpoint,
  earlier: readonly Checkpoint[],
  findings: Findings,
): AsyncGenerator<LogTile, void, void> {
  for (const one of earlier)
    if (one.origin !== origin)
      findings.add('second_history', null, `it was ${one.origin} before, and is ${origin} now`)
    else if (one.size > size)
      findings.add('second_history', null, `it had ${one.size} entries before, and has ${size} now`)
  const tree = new GrowingTree()
  for await (const tile of tilesOf(source, size)) {
    for (const entry of tile.entries) {
      tree.add(leafHash(entry))
      for (const one of earlier)
        if (one.origin === origin && one.size === tree.size && !one.root.equals(tree.root()))
          findings.add('second_history', null, `its first ${one.size} entries are not what they were before`)
    }
    yield tile
  }
  if (!tree.root().equals(root)) throw faultyError('its entries do not lead to the root that is signed')
}

/** Each tile is fetched while the one before is checked. */
async function* tilesOf(source: LogSource, size: number): AsyncGenerator<LogTile, void, void> {
  async function fetchTile(kind: TileKind, index: number, width: number): Promise<Buffer> {
    const path = `log/${formatTilePath({ kind, index, width })}`
    const bytes = await source.get(path)
    if (bytes === undefined) throw faultyError(`/${path} is missing`)
    return bytes
  }
  async function readTile(index: number): Promise<LogTile> {
    const width = tileWidth({ kind: 'entries', index }, size)
    const entries = splitBundle(await fetchTile('entries', index, width), width)
    return { entries, lines: splitLines(await fetchTile('contents', index, width), width) }
  }
  let next = readTile(0)
  for (let index = 1; (index - 1) * TILE_WIDTH < size; index++) {
    const tile = await next
    if (index * TILE_WIDTH < size) next = readTile(index)
    // Its error is thrown when it is awaited; until then it is no unhandled one.
    next.catch(() => undefined)
    yield tile
  }
}

function splitBundle(bytes: Buffer, width: number): readonly Buffer[] {
  const step = 2 + ENTRY_BYTES
  if (bytes.length !== width * step) throw faultyError('a tile of entries has the wrong length')
  return Array.from({ length: width }, (_, index) => {
    if (bytes.readUInt16BE(index * step) !== ENTRY_BYTES) throw faultyError('an entry has the wrong length')
    return bytes.subarray(index * step + 2, (index + 1) * step)
  })
}

/** Each line becomes a text when it is checked: a tile as one text would stay in memory as long as any of its lines. */
function splitLines(bytes: Buffer, width: number): readonly Buffer[] {
  const lines: Buffer[] = []
  for (let [start, end] = [0, bytes.indexOf('\n')]; end >= 0 && lines.length <= width; ) {
    lines.push(bytes.subarray(start, end))
    start = end + 1
    end = bytes.indexOf('\n', start)
  }
  if (lines.length !== width || bytes.at(-1) !== 10)
    throw faultyError('contents are not one line for each entry')
  return lines
}
