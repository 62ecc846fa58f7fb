import { isServiceError, type ServiceError } from '../../../contracts/errors.ts'

export interface PatienceOptions {
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
  /** Told when work begins to wait for the store, and again every ten minutes. */
  readonly onTrouble?: (error: ServiceError) => void
}

/** Repeats what fails for a reason that passes by itself. */
export interface Patience {
  /**
   * The outcome of some work on the store, however long the store is away. Once the signal is aborted, what
   * the work fails with is thrown.
   *
   * @param onFailure told of every failure that is waited out.
   */
  waitOut<Value>(work: () => Promise<Value>, onFailure?: (error: ServiceError) => void): Promise<Value>
  /** What the work waits for at the moment. */
  trouble(): string | undefined
}

const RETRY_MS = [50, 200, 1_000, 5_000, 15_000] as const
/** Of the longest wait: a reminder every ten minutes. */
const TRIES_PER_REMINDER = 40

export function createPatience({ sleep, signal, onTrouble }: PatienceOptions): Patience {
  let trouble: string | undefined
  return {
    async waitOut(work, onFailure) {
      for (let tries = 0; ; tries++) {
        try {
          const value = await work()
          trouble = undefined
          return value
        } catch (error) {
          if (!isPassing(error) || signal.aborted) throw error
          onFailure?.(error)
          // Told when trouble begins, and again while it lasts; every series of a bar would repeat it.
          if (trouble === undefined || tries % TRIES_PER_REMINDER === TRIES_PER_REMINDER - 1)
            onTrouble?.(error)
          trouble = error.message
          await sleep(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 15_000, signal)
        }
      }
    },
    trouble: () => trouble,
  }
}

const isPassing = (error: unknown): error is ServiceError =>
  isServiceError(error, 'append_unknown') ||
  isServiceError(error, 'store_unavailable') ||
  isServiceError(error, 'store_full')
