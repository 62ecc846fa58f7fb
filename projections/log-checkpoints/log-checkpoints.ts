import type { EventOf } from '../../contracts/event-definition.ts'
import type { JsonObject } from '../../contracts/json.ts'
import type { CheckpointCosigned, NamedTreeHead } from '../../contracts/proof-events.ts'
import type { Projection, Rows } from '../projection.ts'

/** The keys of the transparency log and the origin they sign for. Key: {@link LOG_KEYS}. */
export interface LogKeysRow extends JsonObject {
  readonly origin: string
  /** Those that sign now. */
  readonly vkeys: readonly string[]
  /** Those that ever signed, oldest first: old checkpoints are checked with them. */
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

/** The newest checkpoint that enough witnesses have cosigned. Key: {@link COSIGNED_CHECKPOINT}. */
export interface CosignedRow extends NamedTreeHead, JsonObject {
  /** With the cosignatures. */
  readonly note: string
  readonly witnesses: readonly string[]
  /** Market time, Unix milliseconds. */
  readonly cosignedAt: number
  /** Size of the first one: verdicts are counted behind it. */
  readonly since: number
  readonly verdicts: number
  /** Those of them whose window was open when they were cosigned. */
  readonly inTime: number
}

export const LOG_KEYS = 'keys'
export const NEWEST_CHECKPOINT = 'newest'
export const COSIGNED_CHECKPOINT = 'cosigned'

/** Who signs the transparency log, how far it was signed, and how far cosigned. */
export const logCheckpoints: Projection<LogKeysRow | CheckpointRow | CosignedRow> = {
  name: 'log_checkpoints',
  version: 2,
  changes: 'rows',
  events: ['LogKeysPublished', 'CheckpointSigned', 'CheckpointCosigned'],
  fold(rows, event) {
    if (event.type === 'CheckpointSigned') rows.put(NEWEST_CHECKPOINT, event.data)
    if (event.type === 'CheckpointCosigned') foldCosigned(rows, event.data)
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

function foldCosigned(
  rows: Rows<LogKeysRow | CheckpointRow | CosignedRow>,
  { isQuorum, countedFrom, verdicts, inTime, ...cosigned }: EventOf<typeof CheckpointCosigned>['data'],
): void {
  const newest = rows.get(NEWEST_CHECKPOINT) as CheckpointRow | undefined
  if (newest?.origin === cosigned.origin && newest.size === cosigned.size && newest.root === cosigned.root)
    rows.put(NEWEST_CHECKPOINT, { ...newest, note: cosigned.note })
  const before = rows.get(COSIGNED_CHECKPOINT) as CosignedRow | undefined
  // Counted from elsewhere, it was recorded before the last one was read: the next one counts what is missing.
  if (!isQuorum || countedFrom !== (before?.size ?? cosigned.size)) return
  rows.put(COSIGNED_CHECKPOINT, {
    ...cosigned,
    since: before?.since ?? cosigned.size,
    verdicts: (before?.verdicts ?? 0) + verdicts,
    inTime: (before?.inTime ?? 0) + inTime,
  })
}
