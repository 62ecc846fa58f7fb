import { assert } from '../../../contracts/errors/assert.ts'
import { reasonOf } from '../../../contracts/errors/errors.ts'
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
export function createCheckpointSigner(options: SignerOptions) {
  const { tree, row, keys, kept, newId, now, store } = options
  let problem: string | undefined
  const keysRow = (): LogKeysRow | undefined => row(LOG_KEYS) as LogKeysRow | undefined
  const newest = (): CheckpointRow | undefined => row(NEWEST_CHECKPOINT) as CheckpointRow | undefined

  /** If another process appends at the same time, one of both does; the next call reads what the other appended. */
  async function append(stream: string, event: NewEvent): Promise<void> {
    let expected: Revision | 'no-stream' = 'no-stream'
    for await (const { revision } of store.read(stream, { direction: 'backwards', limit: 1 }))
      expected = revision
    // Never aborted: an append that has begun is not broken off.
    const path = { ...options, policy: RETRY_FOR_CALLER, signal: new AbortController().signal }
    const outcome = await appendWithRetry(path, { stream, events: [event], expected })
    if (outcome.kind === 'refused' || outcome.kind === 'unknown') throw outcome.error
  }

  async function sign(checkpoint: Checkpoint): Promise<void> {
    const { origin, size, root } = checkpoint
    assert(size <= tree.size(), 'a checkpoint has no more entries than the log', size)
    const note = signCheckpoint(checkpoint, signersOf(keys, origin))
    const data = { origin, size, root: root.toString('base64'), note, signedAt: now() }
    const meta = { correlationId: `checkpoint ${size}`, actor: 'log' }
    // Kept before anyone can see it: a signed checkpoint binds the log for ever.
    kept.write(checkpoint)
    await append(LOG_CHECKPOINTS_STREAM, newEvent(CheckpointSigned, { id: newId(), data, meta }))
  }

  function report(why: string): void {
    if (problem !== why) options.onProblem(why)
    problem = why
  }

  async function signNewest(): Promise<void> {
    const step = decideSigning({
      ...options,
      keys: keysRow(),
      newest: newest(),
      kept: kept.read(),
      size: tree.size(),
      root: (size) => tree.root(size),
      vkeysFor: (origin) => signersOf(keys, origin).map(({ vkey }) => vkey),
    })
    if (step.kind === 'refuse') return report(`${step.why}. ${WAY_OUT}`)
    const meta = { correlationId: 'log keys', actor: 'log' }
    if (step.kind === 'publish')
      await append(LOG_KEYS_STREAM, newEvent(LogKeysPublished, { id: newId(), data: step.keys, meta }))
    else if (step.kind === 'sign') await sign(step.checkpoint)
    problem = undefined
  }

  function keepNewest(): void {
    const seen = newest()
    const before = kept.read()
    if (seen === undefined) return
    const isNewer =
      before === undefined || before.origin === seen.origin
        ? seen.size > (before?.size ?? -1)
        : keysRow()?.leaves?.origin === before.origin
    if (isNewer) kept.write({ ...seen, root: Buffer.from(seen.root, 'base64') })
  }

  /** A failure is reported and tried again. */
  async function repeat(work: () => Promise<void> | void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await work()
      } catch (error) {
        report(reasonOf(error))
      }
      await options.sleep(SIGN_EVERY_MS, signal)
    }
  }

  return {
    /** Signs the newest tree, or sets the problem that prevents it. */
    signNewest,
    /** Signs every two seconds until the signal. */
    run: (signal: AbortSignal): Promise<void> => repeat(signNewest, signal),
    /** Keeps the newest checkpoint that another process signed. */
    follow: (signal: AbortSignal): Promise<void> => repeat(keepNewest, signal),
    /** The reason why it cannot sign at the moment. */
    problem: (): string | undefined => problem,
  }
}
