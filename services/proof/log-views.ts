import { assert } from '../../contracts/assert.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { RecordedEvent } from '../../contracts/event.ts'
import type { JsonObject } from '../../contracts/json.ts'
import type { Position } from '../../contracts/position.ts'
import { type CheckpointRow, LOG_KEYS, type LogKeysRow, NEWEST_CHECKPOINT } from '../../projections/index.ts'
import type { EventStore } from '../log/event-store.ts'
import { formatProof } from './proof-file.ts'
import { contentText, ENTRY_TYPES, kindOf, opensAt } from './tree/entry.ts'
import { parseTilePath, TILE_WIDTH, tileWidth } from './tree/tile-path.ts'
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
export class LogViews {
  readonly #options: LogViewsOptions

  constructor(options: LogViewsOptions) {
    this.#options = options
  }

  #newest(): CheckpointRow {
    const checkpoint = this.#options.row(NEWEST_CHECKPOINT) as CheckpointRow | undefined
    const keys = this.#options.row(LOG_KEYS) as LogKeysRow | undefined
    if (checkpoint === undefined || checkpoint.origin !== keys?.origin)
      throw new ServiceError('log_not_signed')
    return checkpoint
  }

  readonly #pathOf = (path: string) => {
    const parsed = parseTilePath(path)
    if (parsed === undefined) throw new ServiceError('log_path_invalid')
    return parsed
  }

  /** The events of a tile, oldest first. */
  async #eventsOf(tile: number, width: number, signal: AbortSignal): Promise<RecordedEvent[]> {
    const after = this.#options.tree.after(tile)
    const events: RecordedEvent[] = []
    const options = {
      limit: width,
      filter: { types: ENTRY_TYPES },
      signal,
      ...(after !== undefined && { after }),
    }
    for await (const event of this.#options.store.readAll(options)) events.push(event)
    return events
  }

  /** The newest signed checkpoint. Throws `log_not_signed` before the first one. */
  readonly checkpoint = (): string => this.#newest().note

  /** Every key that ever signed, one a line. Throws as {@link LogViews.checkpoint}. */
  readonly vkeys = (): string => {
    const keys = this.#options.row(LOG_KEYS) as LogKeysRow | undefined
    if (keys === undefined) throw new ServiceError('log_not_signed')
    return keys.published.map((vkey) => `${vkey}\n`).join('')
  }

  /**
   * Hashes or entries.
   *
   * @param path below `/log/`: `tile/0/x001/234`
   * @throws ServiceError `log_path_invalid`, `log_not_there`
   */
  readonly tile = (path: string): Buffer => {
    const bytes = this.#options.tree.tile(this.#pathOf(path))
    if (bytes === undefined) throw new ServiceError('log_not_there')
    return bytes
  }

  /**
   * The contents of a tile, a line for each entry; `null` for a content that is not shown yet.
   *
   * @throws as {@link LogViews.tile}
   */
  readonly contents = async (
    path: string,
    signal: AbortSignal,
  ): Promise<{ readonly text: string; readonly isWhole: boolean }> => {
    const tile = this.#pathOf(path)
    if (tile.width > tileWidth(tile, this.#options.tree.size())) throw new ServiceError('log_not_there')
    const now = this.#options.marketNow()
    let isWhole = true
    const lines = (await this.#eventsOf(tile.index, tile.width, signal)).map((event) => {
      const text = contentText(event)
      if (opensAt(event, kindOf(event)) <= now) return text
      isWhole = false
      return 'null'
    })
    assert(lines.length === tile.width, 'a tile has a line of content for each entry', lines.length)
    return { text: lines.map((line) => `${line}\n`).join(''), isWhole }
  }

  /**
   * A proof file for one event.
   *
   * @throws ServiceError `log_not_signed` where no checkpoint holds it yet
   */
  readonly proof = async (
    { id, position }: { readonly id: string; readonly position: Position },
    signal: AbortSignal,
  ): Promise<string> => {
    const signed = this.#newest()
    const tile = this.#options.tree.size() === 0 ? 0 : this.#options.tree.tileOf(position)
    const events = await this.#eventsOf(tile, TILE_WIDTH, signal)
    const at = events.findIndex((event) => event.id === id)
    const event = events[at]
    const index = tile * TILE_WIDTH + at
    if (event === undefined || index >= signed.size) throw new ServiceError('log_not_signed')
    const path = this.#options.tree.inclusion(index, signed.size)
    return formatProof({ index, path, extra: Buffer.from(contentText(event)), checkpoint: signed.note })
  }
}

/** Its methods stand alone, so that others can be put beside them. */
export const createLogViews = (options: LogViewsOptions): Pick<LogViews, keyof LogViews> =>
  new LogViews(options)
