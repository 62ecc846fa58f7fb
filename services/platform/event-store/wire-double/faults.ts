import { type ServiceError, status } from '@grpc/grpc-js'
import type { AppendOutcome } from './double-log.ts'
import { rpcError } from './wire-messages.ts'

/** What the next append meets, once. After `…-after-commit` it is in the log. */
export type AppendFault =
  | 'lost-before-commit'
  | 'lost-after-commit'
  | 'timeout-after-commit'
  | 'silent-end-after-commit'
  /** The answer waits for `releaseHeld`. */
  | 'held-after-commit'
  | 'busy'
  | 'not-leader'

type Outcome = AppendOutcome | { readonly kind: 'too-late' }

/** The steps of an append, for a fault to come between them. */
export interface AppendSteps<Result extends Outcome> {
  commit(): Result
  answer(outcome: Result): void
  fail(error: ServiceError): void
  endSilently(): void
}

export interface Faults {
  readonly now: () => number
  failNextAppend(fault: AppendFault): void
  /** Holds every answer from now on, appends included, which are not written before `thaw`. */
  freeze(): void
  thaw(): void
  releaseHeld(): void
  /** Runs now, or after `thaw`. */
  unlessFrozen(work: () => void): void
  onAppend<Result extends Outcome>(steps: AppendSteps<Result>): void
}

/** @param leader where the not-leader fault points to. */
export function createFaults(now: () => number, leader: () => { host: string; port: number }): Faults {
  let next: AppendFault | undefined
  let isFrozen = false
  const frozen: (() => void)[] = []
  const held: (() => void)[] = []

  const unlessFrozen = (work: () => void): void => {
    if (isFrozen) frozen.push(work)
    else work()
  }

  function notLeader(): ServiceError {
    const { host, port } = leader()
    const trailers = { 'leader-endpoint-host': host, 'leader-endpoint-port': String(port) }
    return rpcError(status.NOT_FOUND, 'Leader info available', { exception: 'not-leader', ...trailers })
  }

  function applyFault<Result extends Outcome>(fault: AppendFault, steps: AppendSteps<Result>): void {
    if (fault === 'busy') return steps.fail(rpcError(status.UNKNOWN, 'Server Is Busy'))
    if (fault === 'not-leader') return steps.fail(notLeader())
    const dropped = rpcError(status.UNAVAILABLE, 'Connection dropped')
    if (fault === 'lost-before-commit') return steps.fail(dropped)
    const outcome = steps.commit()
    if (fault === 'lost-after-commit') return steps.fail(dropped)
    if (fault === 'timeout-after-commit') return steps.fail(rpcError(status.UNKNOWN, 'Operation timed out'))
    if (fault === 'silent-end-after-commit') return steps.endSilently()
    held.push(() => steps.answer(outcome))
  }

  return {
    now,
    unlessFrozen,
    failNextAppend(fault) {
      next = fault
    },
    freeze() {
      isFrozen = true
    },
    thaw() {
      isFrozen = false
      for (const work of frozen.splice(0)) work()
    },
    releaseHeld() {
      for (const work of held.splice(0)) work()
    },
    onAppend(steps) {
      unlessFrozen(() => {
        const fault = next
        next = undefined
        if (fault === undefined) steps.answer(steps.commit())
        else applyFault(fault, steps)
      })
    },
  }
}
