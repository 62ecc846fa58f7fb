import { type ErrorCode, isServiceError, type ServiceError } from '../../../contracts/errors.ts'
import type { Clock } from '../../platform/async/clock.ts'
import { type AppendPolicy, UNTIL_ENDED } from '../../platform/event-store/append-policies.ts'
import {
  type AppendOutcome,
  appendUntilKnown,
  type PlacedAppend,
} from '../../platform/event-store/append-until-known.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import { pauseForOthers } from '../../platform/event-store/execute-command.ts'

export interface RetrierOptions extends Pick<Clock, 'sleep'> {
  readonly signal: AbortSignal
  /** Told when work begins to wait for the store, and again every ten minutes. */
  readonly onProblem?: (error: ServiceError) => void
}

/** Repeats what fails for a reason that passes by itself. */
export interface Retrier {
  /**
   * The outcome of some work on the store, however long the store is away. Once the signal is aborted, what
   * the work fails with is thrown.
   */
  waitOut<Value>(work: () => Promise<Value>): Promise<Value>
  /**
   * Appends, however long the store is away; unknown only once the signal is aborted, and refused for what passes,
   * too. While it certainly has not happened it is made anew now and then: what it says may depend on the time.
   */
  append(store: EventStore, make: () => PlacedAppend): Promise<AppendOutcome>
  /** Before something is decided anew, behind so many conflicts. */
  pause(conflicts: number): Promise<void>
  /** What the work waits for at the moment. */
  problem(): string | undefined
}

const RETRY_MS = [50, 200, 1_000, 5_000, 15_000] as const
/** How soon one of those that wait asks again; the others hear of it. */
const PROBE_MS = 1_000
/** Of whoever asks: a reminder every ten minutes. */
const TRIES_PER_REMINDER = 600

/** Series are many, and each that waits would ask: the longer the store is away, the less often. */
const POLICY: AppendPolicy = { ...UNTIL_ENDED, refusedMs: 60_000, pausesMs: RETRY_MS }

export function createRetrier({ sleep, signal, onProblem }: RetrierOptions): Retrier {
  let problem: string | undefined
  /** Told when trouble begins, and again while it lasts; every series of a bar would repeat it. */
  function note(error: ServiceError, tries: number): void {
    if (problem === undefined || tries % TRIES_PER_REMINDER === TRIES_PER_REMINDER - 1) onProblem?.(error)
    problem = error.message
  }

  let isAskedFor = false
  let waking = new AbortController()

  /** Rests between tries. One of those that rest asks again soon, so that all go on as soon as the store is back. */
  async function rest(ms: number, until: AbortSignal): Promise<void> {
    if (isAskedFor) return sleep(ms, AbortSignal.any([until, waking.signal]))
    isAskedFor = true
    try {
      await sleep(Math.min(ms, PROBE_MS), until)
    } finally {
      isAskedFor = false
    }
  }

  function wentWell(): void {
    if (problem === undefined) return
    problem = undefined
    waking.abort()
    waking = new AbortController()
  }

  return {
    async waitOut(work) {
      for (let tries = 0; ; tries++) {
        try {
          const value = await work()
          wentWell()
          return value
        } catch (error) {
          if (!isPassing(error) || signal.aborted) throw error
          note(error, tries)
          await rest(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 15_000, signal)
        }
      }
    },
    async append(store, make) {
      let tries = 0
      const onFailure = (error: ServiceError): void => note(error, tries++)
      // It waits for as long as it runs, whatever the time.
      const path = { store, policy: POLICY, now: () => 0, sleep: rest, signal, onFailure }
      for (;;) {
        const outcome = await appendUntilKnown(path, make())
        if (outcome.kind === 'appended' || outcome.kind === 'conflict') wentWell()
        const isAway = outcome.kind === 'refused' && isPassing(outcome.error)
        if (!isAway || signal.aborted) return outcome
      }
    },
    pause: (conflicts) => pauseForOthers({ sleep, signal }, conflicts),
    problem: () => problem,
  }
}

const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['store_unavailable', 'store_full'])
const isPassing = (error: unknown): error is ServiceError => isServiceError(error) && PASSING.has(error.code)
