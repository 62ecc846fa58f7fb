/** Hashes or entries of a full tile. */
export const TILE_WIDTH = 256
/** Levels of the tree in a tile. */
export const TILE_LEVELS = 8

/** The level of a tile of hashes, or the name of another kind of tile. */
export type TileKind = number | 'entries' | 'contents'

export interface TilePath {
  readonly kind: TileKind
  readonly index: number
  /** How many hashes or entries it has. */
  readonly width: number
}

const TILE = /^(?:tile\/(\d{1,2}|entries)|(contents))\/((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/

/** Levels beyond hold nothing in a tree whose size is a safe integer. */
const MOST_LEVELS = 7

/** Reads a path below `/log/`; undefined where it names no tile. */
export function parseTilePath(path: string): TilePath | undefined {
  const [, place, contents, number = '', partial] = TILE.exec(path) ?? []
  if (place === undefined && contents === undefined) return undefined
  const kind =
    contents === undefined && place !== 'entries' ? Number(place) : place === 'entries' ? place : 'contents'
  const index = Number(number.replaceAll(/[x/]/g, ''))
  const width = partial === undefined ? TILE_WIDTH : Number(partial)
  const tile: TilePath = { kind, index, width }
  const isSane = width <= TILE_WIDTH && (typeof kind === 'string' || kind < MOST_LEVELS)
  // One tile has one name: leading groups of zeros, a level 00 or a full tile named as a partial one are others.
  return isSane && Number.isSafeInteger(index) && formatTilePath(tile) === path ? tile : undefined
}

export function formatTilePath({ kind, index, width }: TilePath): string {
  const digits = String(index)
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, '0')
  const groups = padded.match(/\d{3}/g) ?? []
  const name = groups.map((group, at) => (at === groups.length - 1 ? group : `x${group}`)).join('/')
  const folder = kind === 'contents' ? kind : `tile/${kind}`
  return `${folder}/${name}${width === TILE_WIDTH ? '' : `.p/${width}`}`
}

/** How many hashes a tile at a level has in a tree of some size; entries and contents are as level 0. */
export function tileWidth({ kind, index }: Omit<TilePath, 'width'>, size: number): number {
  const hashes = Math.floor(size / TILE_WIDTH ** (typeof kind === 'number' ? kind : 0))
  return Math.max(0, Math.min(TILE_WIDTH, hashes - index * TILE_WIDTH))
}
