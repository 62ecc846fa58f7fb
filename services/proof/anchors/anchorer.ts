import { assert } from '../../../contracts/assert.ts'
import { reasonOf } from '../../../contracts/errors.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { CheckpointAnchored } from '../../../contracts/proof-events.ts'
import { LOG_ANCHORS_STREAM } from '../../../contracts/streams.ts'
import {
  ANCHORED_CHECKPOINT,
  type AnchoredRow,
  type CheckpointRow,
  COSIGNED_CHECKPOINT,
  type CosignedRow,
  NEWEST_CHECKPOINT,
} from '../../../projections/index.ts'
import { appendLogEvent, type LogWriterOptions } from '../append-log-event.ts'
import { checkpointText } from '../notes/checkpoint.ts'
import type { TreeReader } from '../tree/tree-reader.ts'
import { countVerdicts } from '../witnesses/cosigner.ts'

/** The transaction that holds a text. */
export interface OnChain {
  readonly chainId: number
  readonly transaction: string
  readonly blockNumber: number
  readonly blockHash: string
}

export interface AnchorerOptions extends LogWriterOptions {
  readonly tree: TreeReader
  /** A row of the read model of keys and checkpoints. */
  readonly row: (key: string) => JsonObject | undefined
  /** Puts a text on the chain; undefined while this process has no wallet at work. */
  readonly writer: () => ((text: string, signal: AbortSignal) => Promise<OnChain>) | undefined
  /** Whether witnesses are to have cosigned what is anchored. */
  readonly isCosigned: boolean
  /** How long between two anchors, milliseconds. */
  readonly everyMs: number
  /** Market time, Unix milliseconds. */
  readonly marketNow: () => number
  /** Called when it begins to fail, with the reason. */
  readonly onProblem: (why: string) => void
}

const LOOK_EVERY_MS = 2_000
const REST_MS = 60_000

/**
 * Writes the text of a checkpoint as the data of a transaction, so that origin, size and root can be read in it. Where the log has
 * witnesses, it anchors the checkpoint that they have cosigned: what is anchored in time was then cosigned in time. A checkpoint
 * anchored twice, because the outcome of the first attempt was unknown, costs its gas and changes nothing.
 */
export function createAnchorer(options: AnchorerOptions) {
  const { tree, row, writer, isCosigned, everyMs, now, marketNow } = options
  let restUntil = 0
  let problem: string | undefined

  const newest = (): CheckpointRow | CosignedRow | undefined =>
    row(isCosigned ? COSIGNED_CHECKPOINT : NEWEST_CHECKPOINT) as CheckpointRow | CosignedRow | undefined

  /** Anchors the newest checkpoint where it is time for that. */
  async function look(signal: AbortSignal): Promise<void> {
    const write = writer()
    const checkpoint = newest()
    const before = row(ANCHORED_CHECKPOINT) as AnchoredRow | undefined
    if (write === undefined || checkpoint === undefined || tree.size() < checkpoint.size) return
    if (before?.size === checkpoint.size && before.origin === checkpoint.origin) return
    if (now() < (before?.writtenAt ?? -everyMs) + everyMs || now() < restUntil) return
    const { origin, size, root } = checkpoint
    try {
      const stands = await write(checkpointText({ origin, size, root: Buffer.from(root, 'base64') }), signal)
      await record({ origin, size, root }, stands, before?.size ?? size, signal)
      problem = undefined
    } catch (error) {
      if (signal.aborted) return
      restUntil = now() + REST_MS
      if (problem !== reasonOf(error)) options.onProblem(reasonOf(error))
      problem = reasonOf(error)
    }
  }

  async function record(
    head: Pick<CheckpointRow, 'origin' | 'size' | 'root'>,
    stands: OnChain,
    countedFrom: number,
    signal: AbortSignal,
  ): Promise<void> {
    assert(tree.size() >= head.size, 'the tree still holds the checkpoint that was anchored', tree.size())
    const anchoredAt = marketNow()
    const { verdicts, open } = countVerdicts(tree, { from: countedFrom, to: head.size, at: anchoredAt })
    const event = newEvent(CheckpointAnchored, {
      id: options.newId(),
      data: {
        ...head,
        ...stands,
        isCosigned,
        anchoredAt,
        writtenAt: now(),
        countedFrom,
        verdicts,
        inTime: open,
      },
      meta: { correlationId: `checkpoint ${head.size}`, actor: 'log' },
    })
    await appendLogEvent(options, LOG_ANCHORS_STREAM, event, signal)
  }

  return {
    look,
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await look(signal)
        await options.sleep(LOOK_EVERY_MS, signal)
      }
    },
  }
}
