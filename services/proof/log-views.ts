import { assert } from '../../contracts/errors/assert.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import type { EventPlace, RecordedEvent } from '../../contracts/infra/event.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { type CheckpointRow, LOG_KEYS, type LogKeysRow, NEWEST_CHECKPOINT } from '../../projections/index.ts'
import type { EventStore } from '../log/event-store.ts'
import { formatProof } from './proof-file.ts'
import { contentText, ENTRY_TYPES, opensAt } from './tree/entry.ts'
import { parseTilePath, TILE_WIDTH, type TilePath, tileWidth } from './tree/tile-path.ts'
import type { TreeReader } from './tree/tree-reader.ts'

export interface LogViewsOptions {
  readonly store: EventStore
  readonly tree: TreeReader
  /** A row of the read model of keys and checkpoints. */
  readonly row: (key: string) => JsonObject | undefined
  /** Market time, Unix milliseconds. */
  readonly marketNow: () => number
}

/** The transparency log as others read it. */
export function createLogViews({ store, tree, row, marketNow }: LogViewsOptions) {
  const keys = (): LogKeysRow => (row(LOG_KEYS) as LogKeysRow | undefined) ?? notSigned()

  function newest(): CheckpointRow {
    const checkpoint = row(NEWEST_CHECKPOINT) as CheckpointRow | undefined
    return checkpoint?.origin === keys().origin ? checkpoint : notSigned()
  }

  /** The events of a tile, oldest first. */
  function eventsOf(tile: number, limit: number, signal: AbortSignal): Promise<RecordedEvent[]> {
    const after = tree.after(tile)
    const filter = { types: ENTRY_TYPES }
    return Array.fromAsync(store.readAll({ limit, filter, signal, ...(after !== undefined && { after }) }))
  }

  return {
    /** The newest signed checkpoint. @throws ServiceError `log_not_signed` before the first one */
    checkpoint: (): string => newest().note,

    /** Every key that ever signed, one a line. @throws ServiceError `log_not_signed` before the first one */
    vkeys: (): string =>
      keys()
        .published.map((vkey) => `${vkey}\n`)
        .join(''),

    /**
     * Hashes or entries.
     *
     * @param path below `/log/`: `tile/0/x001/234`
     * @throws ServiceError `invalid_request`, `not_found`
     */
    tile: (path: string): Buffer => tree.tile(requireTile(path)) ?? notThere(),

    /**
     * The contents of a tile, a line for each entry; `null` for a content that is not shown yet.
     *
     * @throws ServiceError `invalid_request`, `not_found`
     */
    async contents(path: string, signal: AbortSignal) {
      const tile = requireTile(path)
      if (tile.width > tileWidth(tile, tree.size())) notThere()
      const now = marketNow()
      const events = await eventsOf(tile.index, tile.width, signal)
      const lines = events.map(({ id, type, schema, data }) =>
        opensAt({ type, data }) <= now ? contentText({ id, type, schema, data }) : 'null',
      )
      assert(lines.length === tile.width, 'a tile has a line of content for each entry', lines.length)
      return { text: lines.map((line) => `${line}\n`).join(''), isWhole: !lines.includes('null') }
    },

    /** A proof file for one event. @throws ServiceError `log_not_signed` if no checkpoint holds it yet */
    async proof({ id, position }: Pick<EventPlace, 'id' | 'position'>, signal: AbortSignal): Promise<string> {
      const { size, note } = newest()
      const tile = tree.tileOf(position)
      const events = await eventsOf(tile, TILE_WIDTH, signal)
      const at = events.findIndex((event) => event.id === id)
      const [event, index] = [events[at], tile * TILE_WIDTH + at]
      if (event === undefined || index >= size) return notSigned()
      const extra = Buffer.from(contentText(event))
      return formatProof({ index, path: tree.inclusion(index, size), extra, checkpoint: note })
    },
  }
}

const requireTile = (path: string): TilePath => {
  const tile = parseTilePath(path)
  if (tile === undefined)
    throw new ServiceError('invalid_request', {
      message: `${path.slice(0, 64)} names nothing of the transparency log.`,
      nextStep: 'Read docs/proof.md, which lists the paths under /log/.',
    })
  return tile
}

function notSigned(): never {
  throw new ServiceError('log_not_signed')
}

function notThere(): never {
  throw new ServiceError('not_found', {
    message: 'The transparency log does not reach that far.',
    nextStep: 'Ask for tiles within the size that /log/checkpoint names.',
  })
}
