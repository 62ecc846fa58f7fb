import { isServiceError } from '../../../contracts/errors.ts'

/** An append may wait for so long before that is worth telling: one is confirmed in milliseconds. */
const LATE_MS = 1_000
/** How long an append that was never confirmed is reported, where no other was confirmed since. */
const REMEMBERED_MS = 30_000

/** @param elapsed a clock that is never set, milliseconds */
export function createAppendWatch(elapsed: () => number) {
  const waiting = new Map<object, number>()
  let unknown: { readonly first: number; readonly last: number } | undefined
  return {
    /** Follows one append to its end. */
    async see<Result>(append: Promise<Result>): Promise<Result> {
      const began = elapsed()
      waiting.set(append, began)
      try {
        const result = await append
        unknown = undefined
        return result
      } catch (error) {
        if (isServiceError(error, 'append_unknown'))
          unknown = { first: unknown?.first ?? began, last: elapsed() }
        throw error
      } finally {
        waiting.delete(append)
      }
    },
    /** Why appends are not confirmed; undefined where they are. */
    problem() {
      const now = elapsed()
      // In the order in which they were begun.
      const [oldest = now] = waiting.values()
      const since = unknown !== undefined && now - unknown.last < REMEMBERED_MS ? unknown.first : oldest
      const lateMs = now - Math.min(since, oldest)
      return lateMs < LATE_MS ? undefined : `no append was confirmed for ${Math.round(lateMs)} ms`
    },
  }
}
