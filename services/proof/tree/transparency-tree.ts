import { assert } from '../../../contracts/errors/assert.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { type Position, START } from '../../../contracts/infra/position.ts'
import type { RecordedProjection, Rows } from '../../../projections/projection.ts'
import { ENTRY_BYTES, ENTRY_TYPES, encodeEntry, entryOf } from './entry.ts'
import { HASH_BYTES, type Hash, hashesOver, leafHash } from './merkle.ts'
import { TILE_LEVELS, TILE_WIDTH } from './tile-path.ts'

/** Base64 of entries or of hashes, one after the other: no row is longer than a tile. */
export interface TileRow extends JsonObject {
  readonly data: string
}

/** Entries, and the position of the log after which their events are found. */
export interface EntriesRow extends TileRow {
  readonly after: Position
}

export interface SizeRow extends JsonObject {
  readonly size: number
  /** Position of the newest entry. */
  readonly position: Position
}

export type TreeRow = EntriesRow | TileRow | SizeRow

export const SIZE_KEY = 'size'
export const entriesKey = (tile: number): string => `entries/${tile}`
/** @param level from 1: hashes of the entries follow from the entries */
export const tileKey = (level: number, tile: number): string => `tile/${level}/${tile}`

/**
 * The Merkle tree over the public events, in the order of the log. It commits to events as they were appended, so a later
 * schema changes nothing in it.
 */
export const transparencyTree: RecordedProjection<TreeRow> = {
  name: 'transparency_tree',
  version: 1,
  events: ENTRY_TYPES,
  needs: 'recorded',
  fold(rows, event) {
    const { size, position } = (rows.get(SIZE_KEY) as SizeRow | undefined) ?? { size: 0, position: START }
    const tile = Math.floor(size / TILE_WIDTH)
    const before = rows.get(entriesKey(tile)) as EntriesRow | undefined
    const data = (before?.data ?? '') + encodeEntry(entryOf(event)).toString('base64')
    rows.put(entriesKey(tile), { after: before?.after ?? position, data })
    rows.put(SIZE_KEY, { size: size + 1, position: event.position })
    if ((size + 1) % TILE_WIDTH !== 0) return
    addHash(rows, 1, tile, tileRoot(partsOf(Buffer.from(data, 'base64'), ENTRY_BYTES).map(leafHash)))
  },
}

/** Entries or hashes that follow one another. */
export const partsOf = (bytes: Buffer, length: number): Buffer[] =>
  Array.from({ length: bytes.length / length }, (_, at) => bytes.subarray(at * length, (at + 1) * length))

function tileRoot(hashes: readonly Hash[]): Hash {
  assert(hashes.length === TILE_WIDTH, 'a tile that is full has 256 hashes', hashes.length)
  return hashesOver(hashes)(TILE_LEVELS, 0)
}

/** Hashes of full tiles are those of the level above. */
function addHash(rows: Rows<TreeRow>, level: number, index: number, hash: Hash): void {
  const tile = Math.floor(index / TILE_WIDTH)
  const key = tileKey(level, tile)
  const before = rows.get(key) as TileRow | undefined
  // 32 bytes do not fill base64 to the end, so that texts of hashes cannot be put together.
  const whole = Buffer.concat([Buffer.from(before?.data ?? '', 'base64'), hash])
  rows.put(key, { data: whole.toString('base64') })
  if ((index + 1) % TILE_WIDTH === 0) addHash(rows, level + 1, tile, tileRoot(partsOf(whole, HASH_BYTES)))
}
