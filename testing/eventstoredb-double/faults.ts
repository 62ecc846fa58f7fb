import { type ServiceError, status } from '@grpc/grpc-js'
import type { Clock } from '../../services/runtime/async/clock.ts'
import type { AppendOutcome, DoubleLog } from './double-log.ts'
import { rpcError } from './wire-messages.ts'

/** Fault of the next append, once. After `…-after-commit` it is in the log. */
export type AppendFault =
  | 'lost-before-commit'
  | 'lost-after-commit'
  | 'timeout-after-commit'
  | 'silent-end-after-commit'
  /** The answer waits for `releaseHeld`. */
  | 'held-after-commit'
  | 'busy'
  | 'not-leader'
  /** The user has no right to it. */
  | 'denied'

/** Moods of a server: the share of appends that it hides for a moment, and for how long at most. */
const HIDDEN_SHARE = 0.1
const HIDDEN_MS = 8
/** How many of them find it silent: for so long at most it answers nobody, as a leader that stands still. */
const SILENT_SHARE = 0.02
const SILENT_MS = 50

type Outcome = AppendOutcome | { readonly kind: 'too-late' }

/** After so long a server gives up an append that its followers do not confirm. */
const CONFIRM_WITHIN_MS = 2_000

/** The steps of an append, for a fault to come between them. */
export interface AppendSteps<Result extends Outcome> {
  commit(): Result
  answer(outcome: Result): void
  fail(error: ServiceError): void
  endSilently(): void
}

export interface Faults extends Pick<Clock, 'now'> {
  /**
   * From now on a server has its moods, by chance: some appends take their place a few milliseconds before anybody can
   * read them, or hear of them, and some find it standing still. The same moods for the same seed.
   */
  unsettle(seed: number): void
  failNextAppend(fault: AppendFault): void
  /** Holds every answer from now on, appends included, which are not written before `thaw`. */
  freeze(): void
  thaw(): void
  releaseHeld(): void
  /**
   * From now on followers confirm nothing: appends take their place, nobody can read them, and who waits for one is told
   * after two seconds that it timed out. Until `followersReturn`, which shows and confirms them.
   */
  loseFollowers(): void
  followersReturn(): void
  /** Runs now, or after `thaw`. */
  unlessFrozen(work: () => void): void
  onAppend<Result extends Outcome>(steps: AppendSteps<Result>): void
}

/**
 * @param log whose replication is held
 * @param leader where the not-leader fault points to
 */
export function createFaults(
  now: () => number,
  log: Pick<DoubleLog, 'holdReplication' | 'replicate'>,
  leader: () => { host: string; port: number },
): Faults {
  let mood: (() => number) | undefined
  /** Answers to appends that nobody can read yet. */
  const unconfirmed: (() => void)[] = []
  let isHolding = false
  let isAlone = false
  let next: AppendFault | undefined
  let isFrozen = false
  const frozen: (() => void)[] = []
  const held: (() => void)[] = []

  const unlessFrozen = (work: () => void): void => {
    if (isFrozen) frozen.push(work)
    else work()
  }

  function notLeaderError(): ServiceError {
    const { host, port } = leader()
    const trailers = { 'leader-endpoint-host': host, 'leader-endpoint-port': String(port) }
    return rpcError(status.NOT_FOUND, 'Leader info available', { exception: 'not-leader', ...trailers })
  }

  function applyFault<Result extends Outcome>(fault: AppendFault, steps: AppendSteps<Result>): void {
    if (fault === 'busy') return steps.fail(rpcError(status.UNKNOWN, 'Server Is Busy'))
    if (fault === 'not-leader') return steps.fail(notLeaderError())
    if (fault === 'denied') return steps.fail(deniedError())
    const dropped = rpcError(status.UNAVAILABLE, 'Connection dropped')
    if (fault === 'lost-before-commit') return steps.fail(dropped)
    const outcome = steps.commit()
    if (fault === 'lost-after-commit') return steps.fail(dropped)
    if (fault === 'timeout-after-commit') return steps.fail(rpcError(status.UNKNOWN, 'Operation timed out'))
    if (fault === 'silent-end-after-commit') return steps.endSilently()
    held.push(() => steps.answer(outcome))
  }

  /** Commits, and answers once followers are back, or that it took too long. */
  function commitAlone<Result extends Outcome>(steps: AppendSteps<Result>): void {
    const outcome = steps.commit()
    if (outcome.kind !== 'written') return steps.answer(outcome)
    const late = setTimeout(() => {
      unconfirmed.splice(unconfirmed.indexOf(confirm), 1)
      steps.fail(rpcError(status.UNKNOWN, 'Operation timed out'))
    }, CONFIRM_WITHIN_MS)
    const confirm = (): void => {
      clearTimeout(late)
      steps.answer(outcome)
    }
    unconfirmed.push(confirm)
  }

  const showAll = (): void => {
    isHolding = false
    log.replicate()
    for (const answer of unconfirmed.splice(0)) answer()
  }

  /** Commits, and answers once what was committed can be read. */
  function commitInMood<Result extends Outcome>(steps: AppendSteps<Result>, random: () => number): void {
    if (!isHolding && random() < HIDDEN_SHARE) {
      isHolding = true
      log.holdReplication()
      setTimeout(() => {
        if (!isAlone) showAll()
      }, random() * HIDDEN_MS)
    }
    const outcome = steps.commit()
    if (isHolding && outcome.kind === 'written') unconfirmed.push(() => steps.answer(outcome))
    else steps.answer(outcome)
  }

  const thaw = (): void => {
    isFrozen = false
    for (const work of frozen.splice(0)) work()
  }

  function standStillInMood(random: () => number): void {
    if (isFrozen || random() >= SILENT_SHARE) return
    isFrozen = true
    setTimeout(thaw, random() * SILENT_MS)
  }

  return {
    now,
    unsettle(seed) {
      mood = seededRandom(seed)
    },
    unlessFrozen,
    failNextAppend(fault) {
      next = fault
    },
    freeze() {
      isFrozen = true
    },
    thaw,
    releaseHeld() {
      for (const work of held.splice(0)) work()
    },
    loseFollowers() {
      isAlone = true
      log.holdReplication()
    },
    followersReturn() {
      isAlone = false
      showAll()
    },
    onAppend(steps) {
      if (mood !== undefined) standStillInMood(mood)
      unlessFrozen(() => {
        const fault = next
        next = undefined
        if (fault !== undefined) applyFault(fault, steps)
        else if (isAlone) commitAlone(steps)
        else if (mood !== undefined) commitInMood(steps, mood)
        else steps.answer(steps.commit())
      })
    },
  }
}

const deniedError = (): ServiceError =>
  rpcError(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' })

/** From 0 up to, but not including, 1; the same row of numbers for the same seed. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
