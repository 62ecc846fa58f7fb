import { assert } from '../../../contracts/errors/assert.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { CheckpointSigned, LogKeysPublished } from '../../../contracts/events/proof-events.ts'
import { LOG_CHECKPOINTS_STREAM, LOG_KEYS_STREAM } from '../../../contracts/events/streams.ts'
import type { NewEvent, Revision } from '../../../contracts/infra/event.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import {
  type CheckpointRow,
  LOG_KEYS,
  type LogKeysRow,
  NEWEST_CHECKPOINT,
} from '../../../projections/index.ts'
import { appendWithRetry, type LogUse, RETRY_FOR_CALLER } from '../../log/append-with-retry.ts'
import { type Checkpoint, signCheckpoint } from '../note.ts'
import type { TreeReader } from '../tree/tree-reader.ts'
import { decideSigning, type SigningState } from './decide-signing.ts'
import { type NewestCheckpoint, signersOf } from './keys.ts'

export interface SignerOptions
  extends Omit<LogUse, 'signal'>,
    Pick<SigningState, 'origin' | 'firstOrigin' | 'isShared'> {
  readonly tree: TreeReader
  /** A row of the read model of keys and checkpoints. */
  readonly row: (key: string) => JsonObject | undefined
  readonly keys: readonly Uint8Array[]
  readonly kept: NewestCheckpoint
  /** Called when signing begins to fail, with the reason. */
  readonly onProblem: (why: string) => void
}

/** A checkpoint is at most ten seconds old, which leaves time for a fold and an append. */
const SIGN_EVERY_MS = 2_000

const WAY_OUT =
  'Restore what is missing, or set LOG_ORIGIN to a name that this log never had, which begins a new log with these entries'

/** Signs the tree of the log as it grows. One process does at a time; two would sign the same tree. */
export class CheckpointSigner {
  readonly #options: SignerOptions
  #problem: string | undefined

  constructor(options: SignerOptions) {
    this.#options = options
  }

  readonly #keysRow = (): LogKeysRow | undefined => this.#options.row(LOG_KEYS) as LogKeysRow | undefined

  readonly #newest = (): CheckpointRow | undefined =>
    this.#options.row(NEWEST_CHECKPOINT) as CheckpointRow | undefined

  /** If another process appends at the same time, one of both does; the next call reads what the other appended. */
  async #append(stream: string, event: NewEvent): Promise<void> {
    const { store } = this.#options
    let expected: Revision | 'no-stream' = 'no-stream'
    for await (const { revision } of store.read(stream, { direction: 'backwards', limit: 1 }))
      expected = revision
    // Never aborted: an append that has begun is not broken off.
    const { signal } = new AbortController()
    const path = { ...this.#options, policy: RETRY_FOR_CALLER, signal }
    const outcome = await appendWithRetry(path, { stream, events: [event], expected })
    if (outcome.kind === 'refused' || outcome.kind === 'unknown') throw outcome.error
  }

  async #sign(checkpoint: Checkpoint): Promise<void> {
    const { origin, size, root } = checkpoint
    const { tree, keys, kept, newId, now } = this.#options
    assert(size <= tree.size(), 'a checkpoint has no more entries than the log', size)
    const note = signCheckpoint(checkpoint, signersOf(keys, origin))
    const data = { origin, size, root: root.toString('base64'), note, signedAt: now() }
    const meta = { correlationId: `checkpoint ${size}`, actor: 'log' }
    // Kept before anyone can see it: a signed checkpoint binds the log for ever.
    kept.write(checkpoint)
    await this.#append(LOG_CHECKPOINTS_STREAM, newEvent(CheckpointSigned, { id: newId(), data, meta }))
  }

  readonly signNewest = async (): Promise<void> => {
    const { tree, keys, kept, newId } = this.#options
    const step = decideSigning({
      ...this.#options,
      keys: this.#keysRow(),
      newest: this.#newest(),
      kept: kept.read(),
      size: tree.size(),
      root: (size) => tree.root(size),
      vkeysFor: (origin) => signersOf(keys, origin).map(({ vkey }) => vkey),
    })
    if (step.kind === 'refuse') return this.#report(`${step.why}. ${WAY_OUT}`)
    const meta = { correlationId: 'log keys', actor: 'log' }
    if (step.kind === 'publish')
      await this.#append(LOG_KEYS_STREAM, newEvent(LogKeysPublished, { id: newId(), data: step.keys, meta }))
    else if (step.kind === 'sign') await this.#sign(step.checkpoint)
    this.#problem = undefined
  }

  #report(why: string): void {
    if (this.#problem !== why) this.#options.onProblem(why)
    this.#problem = why
  }

  async #repeat(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await work()
      } catch (error) {
        this.#report(error instanceof Error ? error.message : String(error))
      }
      await this.#options.sleep(SIGN_EVERY_MS, signal)
    }
  }

  /** Signs every two seconds until the signal. A failure is reported and tried again. */
  readonly run = (signal: AbortSignal): Promise<void> => this.#repeat(this.signNewest, signal)

  /** Keeps the newest checkpoint that another process signed. */
  readonly follow = (signal: AbortSignal): Promise<void> =>
    this.#repeat(async () => {
      const seen = this.#newest()
      const before = this.#options.kept.read()
      if (seen === undefined) return
      const isNewer =
        before === undefined || before.origin === seen.origin
          ? seen.size > (before?.size ?? -1)
          : this.#keysRow()?.leaves?.origin === before.origin
      if (isNewer) this.#options.kept.write({ ...seen, root: Buffer.from(seen.root, 'base64') })
    }, signal)

  /** The reason why it cannot sign at the moment. */
  readonly problem = (): string | undefined => this.#problem
}
