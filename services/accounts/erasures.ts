import { isServiceError, type ServiceError } from '../../contracts/errors.ts'
import type { Subject } from '../../contracts/owner-accounts.ts'
import { outcomeUnknownError } from '../log/append-until-known.ts'
import type { Clock } from '../runtime/async/clock.ts'
import { type AccountIndex, untilFollowing } from './account-index.ts'
import type { ErasedSubjects } from './erased-subjects.ts'
import { nameOf, type SubjectKeys } from './subject-keys.ts'

export interface ErasuresOptions extends Pick<Clock, 'sleep'> {
  readonly subjectKeys: SubjectKeys
  /** Undefined where this process keeps no read models; another finishes what was begun then. */
  readonly index: AccountIndex | undefined
  /** Erased subjects, kept outside of the log: a restored log does not know them. */
  readonly list?: ErasedSubjects | undefined
  /** Ends an account that the log takes for open, where it has this generation. */
  readonly end?: (subject: Subject) => Promise<void>
  readonly signal: AbortSignal
  /** Told when an erasure has to wait. */
  readonly onProblem: (error: ServiceError) => void
}

const UNKNOWN = { what: 'the account was erased', again: 'Send the same request again: it is erased once.' }
const RETRY_MS = [50, 250, 1_000] as const
const AGAIN_MS = 15_000

/** The second half of an erasure: the key of what was sealed goes, after the log says that the account is erased. */
export function createErasures(options: ErasuresOptions) {
  const { subjectKeys, index, list, end, sleep, signal, onProblem } = options
  /** Erasures to be retried, by the name of their subject. */
  const pending = new Map<string, Subject>()

  async function eraseNow(subject: Subject, waits: readonly number[]): Promise<void> {
    const name = nameOf(subject)
    for (let tries = 0; ; tries++) {
      try {
        // Known outside of the log before it is done: a copy of the log has the key still.
        list?.add([subject])
        await subjectKeys.erase(subject)
        pending.delete(name)
        return
      } catch (error) {
        const wait = waits[tries]
        if (!isPassing(error) || wait === undefined || signal.aborted) {
          pending.set(name, subject)
          throw isServiceError(error, 'append_unknown') ? outcomeUnknownError(UNKNOWN, error) : error
        }
        onProblem(error)
        await sleep(wait, signal)
      }
    }
  }

  /** Finishes the erasures of an earlier process, and those that a restored log has lost. */
  async function findHalfDone(source: AccountIndex): Promise<void> {
    const unknown = new Map((list?.list() ?? []).map((subject) => [nameOf(subject), subject]))
    for (const page of source.erasedPages()) {
      list?.add(page)
      for (const subject of page) {
        if (signal.aborted) return
        unknown.delete(nameOf(subject))
        if (await subjectKeys.has(subject)) await eraseNow(subject, [])
      }
    }
    for (const subject of unknown.values()) {
      if (signal.aborted) return
      await end?.(subject)
      await eraseNow(subject, [])
    }
  }

  /** Runs the work. Reports a store that is away and returns false, so that the caller retries. */
  async function attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      if (!isPassing(error)) throw error
      if (!signal.aborted) onProblem(error)
      return false
    }
  }

  return {
    /**
     * Erases the key of an account that was erased; waits out a store that is away for a moment.
     *
     * @throws ServiceError of the store where it stays away; it is then finished by {@link run}
     */
    erase: (subject: Subject) => eraseNow(subject, RETRY_MS),
    /** Finishes what a crash or an absent store left half done, now and later. Resolves when the signal is aborted. */
    async run() {
      let isSearched = index === undefined
      while (!signal.aborted) {
        if (!isSearched && index !== undefined) {
          await untilFollowing(index, sleep, signal)
          isSearched = await attempt(() => findHalfDone(index))
        }
        for (const subject of pending.values()) await attempt(() => eraseNow(subject, []))
        await sleep(AGAIN_MS, signal)
      }
    },
  }
}

const isPassing = (error: unknown): error is ServiceError =>
  isServiceError(error, 'store_unavailable') ||
  isServiceError(error, 'append_unknown') ||
  isServiceError(error, 'outcome_unknown') ||
  isServiceError(error, 'store_full')
