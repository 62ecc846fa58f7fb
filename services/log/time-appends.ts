import { isServiceError } from '../../contracts/errors/errors.ts'
import type { EventStore } from './event-store.ts'

/** Told of each append. */
export type AppendDone = (append: {
  readonly durationS: number
  /** Code of the error; undefined where it was appended. */
  readonly error: string | undefined
}) => void

/** The store, with the duration of each append told. */
export function timeAppends(store: EventStore, done: AppendDone): EventStore {
  const append: EventStore['append'] = async (...asked) => {
    const startedAt = performance.now()
    let error: string | undefined
    try {
      return await store.append(...asked)
    } catch (fault) {
      error = isServiceError(fault) ? fault.code : 'internal_error'
      throw fault
    } finally {
      done({ durationS: (performance.now() - startedAt) / 1_000, error })
    }
  }
  return { ...store, append }
}
