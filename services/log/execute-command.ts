import { isServiceError, ServiceError } from '../../contracts/errors.ts'
import type { NewEvent, Revision } from '../../contracts/event.ts'
import {
  type Appended,
  type AppendPath,
  appendUntilKnown,
  CONFLICTS,
  outcomeUnknownError,
  type UnknownOutcome,
} from './append-until-known.ts'

/** A state, and the place in its stream behind which something may be appended. */
export interface Loaded<State> {
  readonly state: State
  /** Of the newest event, whether it changed the state or not. */
  readonly revision: Revision | 'no-stream'
}

/** What is to be recorded, if anything, and what holds once it is. */
export interface Decision<Result> {
  readonly events: readonly NewEvent[]
  readonly result: Result
}

export interface Command<State, Result> {
  readonly stream: string
  /** The newest state, other processes' events included. */
  readonly load: () => Promise<Loaded<State>>
  /** Decides over a state; called again, over the newer one, where somebody else was quicker. */
  readonly decide: (state: State) => Promise<Decision<Result>> | Decision<Result>
  readonly unknown: UnknownOutcome
}

export interface Executed<State, Result> {
  /** What it was decided on. */
  readonly before: State
  readonly result: Result
  /** Undefined where nothing was to be recorded. */
  readonly appended: Appended | undefined
}

/**
 * load → decide → append. Where another event has the place, all of it is done anew, after a pause that grows, and
 * for a bounded number of times.
 *
 * @returns when what was decided is durable
 * @throws ServiceError what `decide` throws; `outcome_unknown`; what the log refuses an append with;
 *   `store_unavailable` where others were always quicker; `idempotency_conflict` where it is decided twice to record
 *   what contradicts the log
 */
export async function executeCommand<State, Result>(
  path: AppendPath,
  { stream, load, decide, unknown }: Command<State, Result>,
): Promise<Executed<State, Result>> {
  let contradicted: string | undefined
  for (let conflicts = 0; conflicts < CONFLICTS.most; conflicts++) {
    if (conflicts > 0) await pauseForOthers(path, conflicts)
    const { state: before, revision: expected } = await load()
    const { events, result } = await decide(before)
    const [first] = events
    if (first === undefined) return { before, result, appended: undefined }
    const outcome = await appendUntilKnown(path, { stream, events, expected })
    if (outcome.kind === 'appended') return { before, result, appended: outcome }
    if (outcome.kind === 'unknown') throw outcomeUnknownError(unknown, outcome.error)
    if (outcome.kind === 'refused') throw outcome.error
    if (isServiceError(outcome.error, 'idempotency_conflict')) {
      if (contradicted === first.id) throw outcome.error
      contradicted = first.id
    }
  }
  throw contendedError()
}

/** Before a decision is made anew: others are at work on the same stream, and have to come to their end. */
export function pauseForOthers(
  { sleep, signal }: Pick<AppendPath, 'sleep' | 'signal'>,
  conflicts: number,
): Promise<void> {
  const { pausesMs } = CONFLICTS
  return sleep(pausesMs[Math.min(conflicts, pausesMs.length) - 1] ?? 0, signal)
}

const contendedError = (): ServiceError =>
  new ServiceError('store_unavailable', {
    message: `Others were quicker to change the same thing ${CONFLICTS.most} times in a row; nothing was recorded`,
  })
