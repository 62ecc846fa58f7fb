import { isServiceError, ServiceError } from '../../contracts/errors/errors.ts'
import type { NewEvent, Revision } from '../../contracts/infra/event.ts'
import {
  type Appended,
  type AppendPath,
  appendWithRetry,
  CONFLICTS,
  outcomeUnknownError,
  type UnknownOutcome,
} from './append-with-retry.ts'

/** A state, and the revision of its stream after which events may be appended. */
export interface Loaded<State> {
  readonly state: State
  /** Revision of the newest event, whether it changed the state or not. */
  readonly revision: Revision | 'no-stream'
}

/** The events to record, if any, and the result once they are durable. */
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
  /** The state on which it was decided. */
  readonly before: State
  readonly result: Result
  /** Undefined where nothing was to be recorded. */
  readonly appended: Appended | undefined
}

/**
 * load → decide → append; all of it again, a bounded number of times, where another append was first. @throws
 * ServiceError what `decide` throws; `outcome_unknown`; the log's refusal; `store_unavailable` where others were always
 * quicker
 */
export async function executeCommand<State, Result>(
  path: AppendPath,
  { stream, load, decide, unknown }: Command<State, Result>,
): Promise<Executed<State, Result>> {
  let contradicted: string | undefined
  async function attempt(): Promise<Executed<State, Result> | undefined> {
    const { state: before, revision: expected } = await load()
    const { events, result } = await decide(before)
    const [first] = events
    if (first === undefined) return { before, result, appended: undefined }
    const outcome = await appendWithRetry(path, { stream, events, expected })
    if (outcome.kind === 'appended') return { before, result, appended: outcome }
    if (outcome.kind === 'unknown') throw outcomeUnknownError(unknown, outcome.error)
    if (outcome.kind === 'refused') throw outcome.error
    if (isServiceError(outcome.error, 'idempotency_conflict')) {
      if (contradicted === first.id) throw outcome.error
      contradicted = first.id
    }
    return undefined
  }
  for (let conflicts = 0; conflicts < CONFLICTS.most; conflicts++) {
    if (conflicts > 0) await pauseForOthers(path, conflicts)
    const executed = await attempt()
    if (executed !== undefined) return executed
  }
  throw contendedError()
}

/** Before a decision is made again: the others that append to the stream have time to finish. */
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
