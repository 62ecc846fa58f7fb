import { assert } from '../../contracts/assert.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { RecordedEvent } from '../../contracts/event.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Position } from '../../contracts/position.ts'
import {
  ANCHOR_PREFIX,
  ANCHORED_CHECKPOINT,
  type AnchoredRow,
  type AnchorRow,
  anchorKey,
  type CheckpointRow,
  COSIGNED_CHECKPOINT,
  type CosignedRow,
  LOG_KEYS,
  type LogKeysRow,
  NEWEST_CHECKPOINT,
} from '../../projections/index.ts'
import type { EventStore } from '../log/event-store.ts'
import { checkpointText } from './notes/checkpoint.ts'
import { formatProof } from './proof-file.ts'
import { ENTRY_TYPES, kindOf, opensAt } from './tree/entry.ts'
import { recordedJson } from './tree/recorded-text.ts'
import { parseTilePath, TILE_WIDTH, tileWidth } from './tree/tile-path.ts'
import type { TreeReader } from './tree/tree-reader.ts'
import { countVerdicts } from './witnesses/cosigner.ts'

export interface LogViewsOptions {
  readonly store: EventStore
  readonly tree: TreeReader
  /** A row of the read model of keys and checkpoints. */
  readonly row: (key: string) => JsonObject | undefined
  /** Rows of it, in the order of their keys. */
  readonly rows: (range: {
    readonly prefix: string
    readonly after?: string
    readonly limit: number
  }) => readonly { readonly key: string; readonly row: JsonObject }[]
  /** Market time, Unix milliseconds. */
  readonly marketNow: () => number
}

/** Entries that are looked through for verdicts whose window has closed without a cosignature; the oldest. */
const MOST_WAITING = 16_384

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

  readonly #cosigned = (): CosignedRow | undefined =>
    this.#options.row(COSIGNED_CHECKPOINT) as CosignedRow | undefined

  readonly #pathOf = (path: string) => {
    const parsed = parseTilePath(path)
    if (parsed === undefined) throw new ServiceError('log_path_invalid')
    return parsed
  }

  /** Adds verdicts whose window has closed since a checkpoint to those that it has counted. */
  #counted(last: Pick<CosignedRow, 'size' | 'verdicts' | 'inTime' | 'since'> | undefined) {
    const size = this.#options.tree.size()
    const from = Math.min(last?.size ?? size, size)
    const to = Math.min(size, from + MOST_WAITING)
    const { verdicts, open } = countVerdicts(this.#options.tree, { from, to, at: this.#options.marketNow() })
    const all = (last?.verdicts ?? 0) + verdicts - open
    return {
      since_size: last?.since ?? null,
      verdicts: all,
      inTime: last?.inTime ?? 0,
      share: last === undefined || all === 0 ? null : last.inTime / all,
      waiting: last === undefined ? size : size - from,
    }
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

  /** The newest one that enough witnesses have cosigned. Throws `log_not_there` before the first one. */
  readonly cosigned = (): string => {
    const found = this.#cosigned()
    if (found === undefined)
      throw new ServiceError('log_not_there', { message: 'No witness has cosigned this log yet.' })
    return found.note
  }

  /** How much of the log witnesses have cosigned, and how soon. */
  readonly witnesses = () => {
    const last = this.#cosigned()
    const { waiting, inTime, ...figures } = this.#counted(last)
    return {
      newest: last ? { ...headOf(last), witnesses: last.witnesses, cosigned_at: last.cosignedAt } : null,
      ...figures,
      cosigned_before_close: inTime,
      entries_waiting: waiting,
    }
  }

  /** Anchored checkpoints that are larger than this size. */
  readonly anchors = (after: number) => {
    const last = this.#options.row(ANCHORED_CHECKPOINT) as AnchoredRow | undefined
    const { waiting: _, inTime, ...figures } = this.#counted(last)
    const found = this.#options
      .rows({ prefix: ANCHOR_PREFIX, after: anchorKey(after), limit: LIMITS.anchorsPerPage })
      .map((one) => one.row as AnchorRow)
    return {
      newest: last ? { ...headOf(last), is_cosigned: last.isCosigned, anchored_at: last.anchoredAt } : null,
      ...figures,
      anchored_before_close: inTime,
      anchors: found.map(anchorShown),
      next: found.length < LIMITS.anchorsPerPage ? null : (found.at(-1)?.size ?? null),
    }
  }

  /**
   * The text of an anchored checkpoint, or its timestamp.
   *
   * @throws ServiceError `log_not_there`
   */
  readonly anchor = (size: number, part: 'checkpoint' | 'ots'): Buffer => {
    const found = this.#options.row(anchorKey(size)) as AnchorRow | undefined
    if (found !== undefined && part === 'checkpoint')
      return Buffer.from(checkpointText({ ...found, root: Buffer.from(found.root, 'base64') }))
    const stamp = found?.timestamp
    if (!stamp) throw new ServiceError('log_not_there', { message: 'This checkpoint stands nowhere else.' })
    return Buffer.from(stamp.file, 'base64')
  }

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
      const text = String(recordedJson(event))
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
    const seen = this.#cosigned()
    const tile = this.#options.tree.size() === 0 ? 0 : this.#options.tree.tileOf(position)
    const events = await this.#eventsOf(tile, TILE_WIDTH, signal)
    const at = events.findIndex((event) => event.id === id)
    const event = events[at]
    const index = tile * TILE_WIDTH + at
    // A cosigned checkpoint proves more than a newer one that nobody has cosigned.
    const checkpoint = seen?.origin === signed.origin && index < seen.size ? seen : signed
    if (event === undefined || index >= checkpoint.size) throw new ServiceError('log_not_signed')
    const path = this.#options.tree.inclusion(index, checkpoint.size)
    return formatProof({ index, path, extra: Buffer.from(recordedJson(event)), checkpoint: checkpoint.note })
  }
}

/** Its methods stand alone, so that others can be put beside them. */
export const createLogViews = (options: LogViewsOptions): Pick<LogViews, keyof LogViews> =>
  new LogViews(options)

const anchorShown = ({ origin, size, root, chain, timestamp }: AnchorRow) => ({
  origin,
  size,
  root,
  chain: chain && {
    chain_id: chain.chainId,
    transaction: chain.transaction,
    block_number: chain.blockNumber,
    block_hash: chain.blockHash,
    written_at: chain.writtenAt,
  },
  timestamp: timestamp && {
    path: `/log/anchors/${size}.ots`,
    bitcoin_block: timestamp.bitcoinBlock,
    written_at: timestamp.writtenAt,
  },
})

const headOf = ({ origin, size }: { readonly origin: string; readonly size: number }) => ({ origin, size })
