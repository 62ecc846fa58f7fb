import type { NamedTreeHead } from '../../contracts/events/proof-events.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { Projection } from '../projection.ts'

/** The keys of the transparency log and the origin they sign for. Key: {@link LOG_KEYS}. */
export interface LogKeysRow extends JsonObject {
  readonly origin: string
  readonly vkeys: readonly string[]
  /** Keys that ever signed, oldest first: old checkpoints are checked with them. */
  readonly published: readonly string[]
  /** The checkpoint of a former origin that this one does not continue. */
  readonly leaves: NamedTreeHead | null
}

/** The newest signed checkpoint. Key: {@link NEWEST_CHECKPOINT}. */
export interface CheckpointRow extends NamedTreeHead, JsonObject {
  readonly note: string
  /** Unix milliseconds. */
  readonly signedAt: number
}

export const LOG_KEYS = 'keys'
export const NEWEST_CHECKPOINT = 'newest'

type LogRow = LogKeysRow | CheckpointRow

/** The signers of the transparency log, and how far it was signed. */
export const logCheckpoints: Projection<LogRow> = {
  name: 'log_checkpoints',
  version: 4,
  events: ['LogKeysPublished', 'CheckpointSigned'],
  fold(rows, event) {
    if (event.type === 'CheckpointSigned') rows.put(NEWEST_CHECKPOINT, event.data)
    if (event.type !== 'LogKeysPublished') return
    const before = rows.get(LOG_KEYS) as LogKeysRow | undefined
    const { origin, vkeys, leaves } = event.data
    const published = [...new Set([...(before?.published ?? []), ...vkeys])]
    rows.put(LOG_KEYS, {
      origin,
      vkeys,
      published,
      leaves: origin === before?.origin ? before.leaves : leaves,
    })
  },
}
