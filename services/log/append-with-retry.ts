import { assert } from '../../contracts/errors/assert.ts'
import { type ErrorCode, isServiceError, ServiceError } from '../../contracts/errors/errors.ts'
import type { NewEvent, RecordedEvent, Revision } from '../../contracts/infra/event.ts'
import type { Position } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock } from '../runtime/async/clock.ts'
import type { EventStore } from './event-store.ts'

/** How long an append is repeated that was refused for a passing reason, or whose outcome is unknown. */
export interface RetryPolicy {
  /** How long an append is repeated that has certainly not happened. */
  readonly refusedMs: number
  /** How long one is pursued of which nobody knows whether it happened. */
  readonly unknownMs: number
  /** Pauses between tries; the last one from then on. */
  readonly pausesMs: readonly number[]
}

/** Refusals that pass by themselves. */
const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['store_unavailable', 'store_full'])

/** Somebody waits for the outcome, or reads the log again if it stays unknown. */
export const RETRY_FOR_CALLER: RetryPolicy = {
  refusedMs: LIMITS.appendWaitMs,
  unknownMs: LIMITS.appendSettleMs,
  pausesMs: [10, 25, 50, 100, 250, 500],
}

/** Work that has nothing else to do until this is in the log: only its signal ends it. */
export const RETRY_IN_BACKGROUND: RetryPolicy = {
  refusedMs: Number.POSITIVE_INFINITY,
  unknownMs: Number.POSITIVE_INFINITY,
  pausesMs: [10, 50, 250, 1_000],
}

/** How often a decision is made anew because somebody else was quicker, and the pauses before it is. */
export const CONFLICTS = { most: 64, pausesMs: [0, 5, 10, 25, 50, 100] } as const

/** How one part of the service writes to the log. */
export interface AppendPath extends Pick<Clock, 'sleep'> {
  readonly store: Pick<EventStore, 'append' | 'read'>
  readonly policy: RetryPolicy
  /** Milliseconds of any clock; only differences are looked at. */
  readonly now: () => number
  /** Ends the repeating: what is not known then stays unknown. */
  readonly signal: AbortSignal
  /** Told of each failure that is waited out. */
  readonly onFailure?: (error: ServiceError) => void
}

/** The log, and all else that a part of the service needs to keep its facts there. */
export interface LogUse extends Pick<Clock, 'now' | 'sleep'> {
  readonly store: EventStore
  readonly newId: () => string
  /** Ends all waiting for a log that does not answer. */
  readonly signal: AbortSignal
}

/** An append with its stream and revision. Repeating it at the same revision is safe on every store. */
export interface PendingAppend {
  readonly stream: string
  readonly events: readonly NewEvent[]
  readonly expected: Revision | 'no-stream'
  /** When the caller began to wait for it, on the path's clock; now, without it. */
  readonly since?: number
}

export interface Appended {
  readonly kind: 'appended'
  readonly revision: Revision
  readonly position: Position
  /** False where the log had the very same events before the first try. */
  readonly isOurs: boolean
}

export type AppendOutcome =
  | Appended
  /**
   * It did not happen and cannot any more: another event has its place (`revision_conflict`), or one of its ids is in
   * the log with other content or elsewhere (`idempotency_conflict`).
   */
  | { readonly kind: 'conflict'; readonly error: ServiceError }
  /** It did not happen: the log took nothing within the time, or does not take such an append at all. */
  | { readonly kind: 'refused'; readonly error: ServiceError }
  /** Within the time the log did not say whether it happened. It may yet. */
  | { readonly kind: 'unknown'; readonly error: ServiceError }

/**
 * Appends, and repeats the very same append while its outcome is unknown: with its ids and its place that is safe. The
 * one place where an append is repeated.
 */
export async function appendWithRetry(path: AppendPath, append: PendingAppend): Promise<AppendOutcome> {
  const { store, policy, now, sleep, signal, onFailure } = path
  const { stream, events, expected, since = now() } = append
  let isUnknown = false
  let paused = 0
  for (let tries = 0; ; tries++) {
    let failure: ServiceError
    try {
      const { revision, position, replayed } = await store.append(stream, events, { expected })
      const first = expected === 'no-stream' ? 0 : expected + 1
      assert(revision === first + events.length - 1, 'an append stands where it was expected', revision)
      return { kind: 'appended', revision, position, isOurs: !replayed || isUnknown }
    } catch (error) {
      if (!isServiceError(error)) throw error
      failure = error
    }
    if (failure.code === 'idempotency_conflict') return conflict(failure)
    if (failure.code === 'revision_conflict') {
      const settled = isUnknown ? await compareStored(path, append, failure) : conflict(failure)
      if (settled !== undefined) return settled
    } else if (failure.code === 'append_unknown') isUnknown = true
    else if (!isUnknown && !PASSING.has(failure.code)) return { kind: 'refused', error: failure }
    const patienceMs = isUnknown ? policy.unknownMs : policy.refusedMs
    // A clock that was set back must not make this go on for longer than the pauses say.
    if (signal.aborted || Math.max(now() - since, paused) >= patienceMs) {
      return { kind: isUnknown ? 'unknown' : 'refused', error: failure }
    }
    onFailure?.(failure)
    const pause = policy.pausesMs[Math.min(tries, policy.pausesMs.length - 1)] ?? 0
    paused += pause
    await sleep(pause, signal)
  }
}

const conflict = (error: ServiceError): AppendOutcome => ({ kind: 'conflict', error })

/**
 * A conflict behind a try of unknown outcome may be with that very try. What stands in the place says so; where the
 * place is taken and cannot be read yet, nobody knows.
 */
async function compareStored(
  { store }: AppendPath,
  { stream, events, expected }: PendingAppend,
  error: ServiceError,
): Promise<AppendOutcome | undefined> {
  const from = expected === 'no-stream' ? 0 : expected + 1
  const there: RecordedEvent[] = []
  try {
    for await (const event of store.read(stream, { from, limit: events.length })) {
      // EventStoreDB begins at the end where there is nothing from here on.
      if (event.revision >= from) there.push(event)
    }
  } catch (failure) {
    if (!isServiceError(failure)) throw failure
    return undefined
  }
  const last = there.at(-1)
  const isOwn = there.length === events.length && there.every((event, index) => isSame(event, events[index]))
  if (isOwn && last !== undefined) {
    return { kind: 'appended', revision: last.revision, position: last.position, isOurs: true }
  }
  const head = error.details?.['actual']
  const isTaken = typeof head === 'number' && head >= from
  return isTaken && last === undefined ? undefined : conflict(error)
}

/** Ids may follow from what is asked for, so that another process' event has the same one, and other content. */
const isSame = (recorded: RecordedEvent, event: NewEvent | undefined): boolean =>
  recorded.id === event?.id &&
  recorded.type === event.type &&
  JSON.stringify(recorded.data) === JSON.stringify(event.data)

/** Texts for callers while an outcome is unknown. */
export interface UnknownOutcome {
  /** The outcome in question: `this call was counted`. */
  readonly what: string
  /** How to ask again without its happening twice. */
  readonly again: string
}

/** The one answer to an append of unknown outcome that leaves the service. */
export const outcomeUnknownError = ({ what, again }: UnknownOutcome, cause: ServiceError): ServiceError =>
  new ServiceError('outcome_unknown', {
    message: `The log did not confirm in time that ${what}; it may have happened or not. ${again}`,
    cause,
  })

/**
 * The append, or undefined where it has to be decided anew. @throws ServiceError `outcome_unknown`, and what the log
 * refused it with
 */
export function appendedOr(outcome: AppendOutcome, unknown: UnknownOutcome): Appended | undefined {
  if (outcome.kind === 'appended') return outcome
  if (outcome.kind === 'conflict') return undefined
  throw outcome.kind === 'unknown' ? outcomeUnknownError(unknown, outcome.error) : outcome.error
}
