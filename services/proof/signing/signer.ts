import { ServiceError } from '../../../contracts/errors.ts'
import { type EventOf, newEvent } from '../../../contracts/event-definition.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { CheckpointSigned, LogKeysPublished } from '../../../contracts/proof-events.ts'
import { LOG_CHECKPOINTS_STREAM, LOG_KEYS_STREAM } from '../../../contracts/streams.ts'
import {
  type CheckpointRow,
  LOG_KEYS,
  type LogKeysRow,
  NEWEST_CHECKPOINT,
} from '../../../projections/index.ts'
import { appendLogEvent, type LogWriterOptions } from '../append-log-event.ts'
import { type Checkpoint, signCheckpoint } from '../notes/checkpoint.ts'
import type { TreeReader } from '../tree/tree-reader.ts'
import { decideSigning, type SigningStep } from './decide-signing.ts'
import { type LogKey, signersOf } from './log-keys.ts'
import type { NewestCheckpoint } from './newest-checkpoint.ts'

export interface SignerOptions extends LogWriterOptions {
  readonly tree: TreeReader
  /** A row of the read model of keys and checkpoints. */
  readonly row: (key: string) => JsonObject | undefined
  readonly keys: readonly LogKey[]
  readonly kept: NewestCheckpoint
  readonly firstOrigin: string
  readonly isShared: boolean
  /** Called when signing begins to fail, with the reason. */
  readonly onProblem: (why: string) => void
}

/** Signs the tree of the log as it grows. One process does at a time; two would sign the same tree. */
export type CheckpointSigner = ReturnType<typeof createSigner>

/** A checkpoint is at most ten seconds old, which leaves time for a fold and an append. */
const LOOK_EVERY_MS = 2_000

export function createSigner(options: SignerOptions) {
  const { tree, row, keys, kept, now, sleep } = options
  /** Never aborted: an append that has begun is not broken off. */
  const patient = new AbortController().signal
  let problem: string | undefined

  const keysRow = (): LogKeysRow | undefined => row(LOG_KEYS) as LogKeysRow | undefined
  const newest = (): CheckpointRow | undefined => row(NEWEST_CHECKPOINT) as CheckpointRow | undefined

  async function publish(data: EventOf<typeof LogKeysPublished>['data']): Promise<void> {
    const event = newEvent(LogKeysPublished, {
      id: options.newId(),
      data,
      meta: { correlationId: 'log keys', actor: 'log' },
    })
    await appendLogEvent(options, LOG_KEYS_STREAM, event, patient)
  }

  async function sign(checkpoint: Checkpoint): Promise<void> {
    const at = now()
    const note = signCheckpoint(checkpoint, signersOf(keys, checkpoint.origin), Math.floor(at / 1_000))
    const { origin, size } = checkpoint
    const event = newEvent(CheckpointSigned, {
      id: options.newId(),
      data: { origin, size, root: checkpoint.root.toString('base64'), note, signedAt: at },
      meta: { correlationId: `checkpoint ${size}`, actor: 'log' },
    })
    // Kept before anyone can see it: a signed checkpoint binds the log for ever.
    kept.write(checkpoint)
    await appendLogEvent(options, LOG_CHECKPOINTS_STREAM, event, patient)
  }

  const decide = (): SigningStep =>
    decideSigning({
      keys: keysRow(),
      newest: newest(),
      kept: kept.read(),
      size: tree.size(),
      root: (size) => tree.root(size),
      vkeysFor: (origin) => signersOf(keys, origin).map(({ vkey }) => vkey),
      firstOrigin: options.firstOrigin,
      isShared: options.isShared,
    })

  /** Signs the newest tree, or sets the problem that prevents it. */
  async function look(): Promise<void> {
    const next = decide()
    if (next.kind === 'refuse') return say(next.why)
    if (next.kind === 'publish') {
      const { origin, vkeys, reason } = next
      await publish({ origin, vkeys: [...vkeys], reason, leaves: null })
    } else if (next.kind === 'sign') await sign(next.checkpoint)
    problem = undefined
  }

  function say(why: string): void {
    if (problem !== why) options.onProblem(why)
    problem = why
  }

  /** Does some work again and again until the signal. */
  async function often(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await work()
      } catch (error) {
        say(error instanceof Error ? error.message : String(error))
      }
      await sleep(LOOK_EVERY_MS, signal)
    }
  }

  return {
    look,
    /** Calls `look` every two seconds until the signal. A failure is reported and tried again. */
    run: (signal: AbortSignal): Promise<void> => often(look, signal),
    /** Keeps the newest checkpoint that another process signed. */
    follow: (signal: AbortSignal): Promise<void> =>
      often(async () => {
        const seen = newest()
        const before = kept.read()
        if (seen === undefined || (before?.origin === seen.origin && before.size >= seen.size)) return
        if (
          before !== undefined &&
          before.origin !== seen.origin &&
          keysRow()?.leaves?.origin !== before.origin
        )
          return
        kept.write({ origin: seen.origin, size: seen.size, root: Buffer.from(seen.root, 'base64') })
      }, signal),
    /** The reason why it cannot sign at the moment. */
    problem: (): string | undefined => problem,
    /**
     * Continues under another origin, from the entries that the log has now. Auditors of the old origin find the change.
     *
     * @throws ServiceError `invalid_request` for the origin that the log has, or none that may be one
     */
    async openOrigin(
      origin: string,
      reason: string,
    ): Promise<{ readonly origin: string; readonly vkeys: readonly string[] }> {
      const known = keysRow()
      if (known?.origin === origin)
        throw new ServiceError('invalid_request', {
          message: `The log has the origin ${origin} already; choose another.`,
        })
      const left = kept.read()
      const signed = newest()
      const leaves =
        left === undefined
          ? signed && { origin: signed.origin, size: signed.size, root: signed.root }
          : { origin: left.origin, size: left.size, root: left.root.toString('base64') }
      const vkeys = signersOf(keys, origin).map(({ vkey }) => vkey)
      await publish({ origin, vkeys, reason, leaves: leaves ?? null })
      return { origin, vkeys }
    },
  }
}
