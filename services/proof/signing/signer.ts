import { assert } from '../../../contracts/assert.ts'
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
import { signersOf } from './log-keys.ts'
import type { NewestCheckpoint } from './newest-checkpoint.ts'

export interface SignerOptions extends LogWriterOptions {
  readonly tree: TreeReader
  /** A row of the read model of keys and checkpoints. */
  readonly row: (key: string) => JsonObject | undefined
  /** Seeds of the keys that sign. */
  readonly keys: readonly Uint8Array[]
  readonly kept: NewestCheckpoint
  readonly firstOrigin: string
  readonly isShared: boolean
  /** Called when signing begins to fail, with the reason. */
  readonly onProblem: (why: string) => void
}

/** A checkpoint is at most ten seconds old, which leaves time for a fold and an append. */
const LOOK_EVERY_MS = 2_000

/** Signs the tree of the log as it grows. One process does at a time; two would sign the same tree. */
export class CheckpointSigner {
  readonly #options: SignerOptions
  /** Never aborted: an append that has begun is not broken off. */
  readonly #patient = new AbortController().signal
  #problem: string | undefined

  constructor(options: SignerOptions) {
    this.#options = options
  }

  readonly #keysRow = (): LogKeysRow | undefined => this.#options.row(LOG_KEYS) as LogKeysRow | undefined

  readonly #newest = (): CheckpointRow | undefined =>
    this.#options.row(NEWEST_CHECKPOINT) as CheckpointRow | undefined

  async #publish(data: EventOf<typeof LogKeysPublished>['data']): Promise<void> {
    const event = newEvent(LogKeysPublished, {
      id: this.#options.newId(),
      data,
      meta: { correlationId: 'log keys', actor: 'log' },
    })
    await appendLogEvent(this.#options, LOG_KEYS_STREAM, event, this.#patient)
  }

  async #sign(checkpoint: Checkpoint): Promise<void> {
    assert(
      checkpoint.size <= this.#options.tree.size(),
      'a checkpoint has no more entries than the log',
      checkpoint.size,
    )
    const at = this.#options.now()
    const note = signCheckpoint(checkpoint, signersOf(this.#options.keys, checkpoint.origin))
    const { origin, size } = checkpoint
    const event = newEvent(CheckpointSigned, {
      id: this.#options.newId(),
      data: { origin, size, root: checkpoint.root.toString('base64'), note, signedAt: at },
      meta: { correlationId: `checkpoint ${size}`, actor: 'log' },
    })
    // Kept before anyone can see it: a signed checkpoint binds the log for ever.
    this.#options.kept.write(checkpoint)
    await appendLogEvent(this.#options, LOG_CHECKPOINTS_STREAM, event, this.#patient)
  }

  readonly #decide = (): SigningStep =>
    decideSigning({
      keys: this.#keysRow(),
      newest: this.#newest(),
      kept: this.#options.kept.read(),
      size: this.#options.tree.size(),
      root: (size) => this.#options.tree.root(size),
      vkeysFor: (origin) => signersOf(this.#options.keys, origin).map(({ vkey }) => vkey),
      firstOrigin: this.#options.firstOrigin,
      isShared: this.#options.isShared,
    })

  /** Signs the newest tree, or sets the problem that prevents it. */
  readonly look = async (): Promise<void> => {
    const next = this.#decide()
    if (next.kind === 'refuse') return this.#say(next.why)
    if (next.kind === 'publish') {
      const { origin, vkeys, reason } = next
      await this.#publish({ origin, vkeys: [...vkeys], reason, leaves: null })
    } else if (next.kind === 'sign') await this.#sign(next.checkpoint)
    this.#problem = undefined
  }

  #say(why: string): void {
    if (this.#problem !== why) this.#options.onProblem(why)
    this.#problem = why
  }

  /** Does some work again and again until the signal. */
  async #often(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await work()
      } catch (error) {
        this.#say(error instanceof Error ? error.message : String(error))
      }
      await this.#options.sleep(LOOK_EVERY_MS, signal)
    }
  }

  /** Calls `look` every two seconds until the signal. A failure is reported and tried again. */
  readonly run = (signal: AbortSignal): Promise<void> => this.#often(this.look, signal)

  /** Keeps the newest checkpoint that another process signed. */
  readonly follow = (signal: AbortSignal): Promise<void> =>
    this.#often(async () => {
      const seen = this.#newest()
      const before = this.#options.kept.read()
      if (seen === undefined || (before?.origin === seen.origin && before.size >= seen.size)) return
      if (
        before !== undefined &&
        before.origin !== seen.origin &&
        this.#keysRow()?.leaves?.origin !== before.origin
      )
        return
      this.#options.kept.write({
        origin: seen.origin,
        size: seen.size,
        root: Buffer.from(seen.root, 'base64'),
      })
    }, signal)

  /** The reason why it cannot sign at the moment. */
  readonly problem = (): string | undefined => this.#problem

  /**
   * Continues under another origin, from the entries that the log has now. Auditors of the old origin find the change.
   *
   * @throws ServiceError `invalid_request` for the origin that the log has, or none that may be one
   */
  async openOrigin(
    origin: string,
    reason: string,
  ): Promise<{ readonly origin: string; readonly vkeys: readonly string[] }> {
    const known = this.#keysRow()
    if (known?.origin === origin)
      throw new ServiceError('invalid_request', {
        message: `The log has the origin ${origin} already; choose another.`,
      })
    const left = this.#options.kept.read()
    const signed = this.#newest()
    const leaves =
      left === undefined
        ? signed && { origin: signed.origin, size: signed.size, root: signed.root }
        : { origin: left.origin, size: left.size, root: left.root.toString('base64') }
    const vkeys = signersOf(this.#options.keys, origin).map(({ vkey }) => vkey)
    await this.#publish({ origin, vkeys, reason, leaves: leaves ?? null })
    return { origin, vkeys }
  }
}
