/**
 * One look at a time: calls made while one is under way, or in the pause after it, share the next. So what is looked
 * at is not asked more often than the pause allows, however many ask.
 */
export function createSharedLook<Seen>(see: () => Promise<Seen>, pause: () => Promise<void>) {
  let busy: Promise<unknown> | undefined
  let next: Promise<Seen> | undefined
  let waiting = 0

  function begin(): Promise<Seen> {
    next = undefined
    const seen = see()
    const done = seen.then(pause, pause).finally(() => {
      if (busy === done) busy = undefined
    })
    busy = done
    return seen
  }

  return {
    /** Calls that wait. */
    get waiting() {
      return waiting
    },
    /** The result of a look that begins after this call. */
    async look() {
      waiting += 1
      try {
        if (busy === undefined) return await begin()
        next ??= busy.then(begin)
        return await next
      } finally {
        waiting -= 1
      }
    },
  }
}
