import type { EventOf } from '../../contracts/event-definition.ts'
import type { JsonObject } from '../../contracts/json.ts'
import type { CheckpointAnchored, CheckpointCosigned, NamedTreeHead } from '../../contracts/proof-events.ts'
import type { Projection, Rows } from '../projection.ts'

/** The keys of the transparency log and the origin they sign for. Key: {@link LOG_KEYS}. */
export interface LogKeysRow extends JsonObject {
  readonly origin: string
  /** Keys that sign now. */
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

/** The newest checkpoint that enough witnesses have cosigned. Key: {@link COSIGNED_CHECKPOINT}. */
export interface CosignedRow extends NamedTreeHead, JsonObject {
  /** With the cosignatures. */
  readonly note: string
  readonly witnesses: readonly string[]
  /** Market time, Unix milliseconds. */
  readonly cosignedAt: number
  /** Size of the first one: verdicts are counted after it. */
  readonly since: number
  readonly verdicts: number
  /** The verdicts whose window was still open when they were cosigned. */
  readonly inTime: number
}

/** The newest checkpoint that stands on the chain. Key: {@link ANCHORED_CHECKPOINT}. */
export interface AnchoredRow extends NamedTreeHead, JsonObject {
  readonly isCosigned: boolean
  /** Market time, Unix milliseconds. */
  readonly anchoredAt: number
  readonly writtenAt: number
  /** As those of a {@link CosignedRow}, for anchors of checkpoints that were cosigned, or of a log that nobody cosigns. */
  readonly since: number
  readonly verdicts: number
  readonly inTime: number
}

/** Copies of a checkpoint outside the log. Key: {@link anchorKey}. */
export interface AnchorRow extends NamedTreeHead, JsonObject {
  readonly chain: {
    readonly chainId: number
    readonly transaction: string
    readonly blockNumber: number
    readonly blockHash: string
    readonly writtenAt: number
  } | null
  readonly timestamp: {
    readonly file: string
    readonly bitcoinBlock: number | null
    readonly writtenAt: number
  } | null
}

export const LOG_KEYS = 'keys'
export const NEWEST_CHECKPOINT = 'newest'
export const COSIGNED_CHECKPOINT = 'cosigned'
export const ANCHORED_CHECKPOINT = 'anchored'
export const ANCHOR_PREFIX = 'anchor/'
/** Prefix of timestamps that are only promised; the rest of the key is as in {@link anchorKey}. */
export const PROMISED_PREFIX = 'promised/'

const sizeText = (size: number): string => String(size).padStart(16, '0')
/** @example anchorKey(3) === 'anchor/0000000000000003' */
export const anchorKey = (size: number): string => `${ANCHOR_PREFIX}${sizeText(size)}`

type LogRow = LogKeysRow | CheckpointRow | CosignedRow | AnchoredRow | AnchorRow

/** The signers of the transparency log, and how far it was signed and cosigned. */
export const logCheckpoints: Projection<LogRow> = {
  name: 'log_checkpoints',
  version: 3,
  changes: 'shape',
  events: [
    'LogKeysPublished',
    'CheckpointSigned',
    'CheckpointCosigned',
    'CheckpointAnchored',
    'CheckpointTimestamped',
  ],
  fold(rows, event) {
    if (event.type === 'CheckpointSigned') rows.put(NEWEST_CHECKPOINT, event.data)
    if (event.type === 'CheckpointCosigned') foldCosigned(rows, event.data)
    if (event.type === 'CheckpointAnchored') foldAnchored(rows, event.data)
    if (event.type === 'CheckpointTimestamped') {
      const { origin, size, root, ...timestamp } = event.data
      const row = { ...anchorOf(rows, { origin, size, root }), timestamp }
      rows.put(anchorKey(size), row)
      const promised = `${PROMISED_PREFIX}${sizeText(size)}`
      if (timestamp.bitcoinBlock === null) rows.put(promised, row)
      else rows.delete(promised)
    }
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
  rows: Rows<LogRow>,
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

/** The known anchors of a checkpoint; none when the stored row is of another origin with the same size. */
function anchorOf(rows: Rows<LogRow>, { origin, size, root }: NamedTreeHead): AnchorRow {
  const before = rows.get(anchorKey(size)) as AnchorRow | undefined
  if (before?.origin === origin && before.root === root) return before
  return { origin, size, root, chain: null, timestamp: null }
}

function foldAnchored(rows: Rows<LogRow>, data: EventOf<typeof CheckpointAnchored>['data']): void {
  const { origin, size, root, chainId, transaction, blockNumber, blockHash, writtenAt } = data
  const chain = { chainId, transaction, blockNumber, blockHash, writtenAt }
  rows.put(anchorKey(size), { ...anchorOf(rows, { origin, size, root }), chain })
  const before = rows.get(ANCHORED_CHECKPOINT) as AnchoredRow | undefined
  // As for cosigned ones.
  if (data.countedFrom !== (before?.size ?? size)) return
  rows.put(ANCHORED_CHECKPOINT, {
    origin,
    size,
    root,
    isCosigned: data.isCosigned,
    anchoredAt: data.anchoredAt,
    writtenAt,
    since: before?.since ?? size,
    verdicts: (before?.verdicts ?? 0) + data.verdicts,
    inTime: (before?.inTime ?? 0) + data.inTime,
  })
}
