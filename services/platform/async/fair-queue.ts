/** Work that waits its turn: a few at a time, one for each subject, and the subjects in rotation. */
export interface FairQueue {
  /**
   * Does the work when its turn comes. Whoever asks often waits behind themselves, not in front of others.
   *
   * @param subject whose work it is
   * @param gone aborted when nobody waits for it any more: it leaves the line, and is not begun
   * @throws what `full` makes, where the subject or all have as many waiting as there may be; the reason of `gone`;
   *   what the work throws
   */
  run<Result>(subject: string, work: () => Promise<Result>, gone?: AbortSignal): Promise<Result>
}

export interface FairQueueOptions {
  /** Works at a time. */
  readonly places: number
  /** That wait, of one subject and of all. */
  readonly waitingEach: number
  readonly waitingInAll: number
  /** After a work, which was so long, keeps its place from the subject's next one; its result does not wait. */
  readonly rest?: (workedMs: number) => Promise<void>
  /** A clock for durations, milliseconds. */
  readonly now?: () => number
  /** What is thrown where there is no room in the line. */
  readonly full: (whose: 'subject' | 'all', waiting: number) => Error
}

interface Waiting {
  readonly begin: () => void
}

/** @example await createFairQueue({ places: 4, … }).run(accountId, () => list(accountId)) */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { places, waitingEach, waitingInAll, full, rest, now = () => performance.now() } = options
  const underWay = new Set<string>()
  /** By subject, in the order of their turns. */
  const lines = new Map<string, Set<Waiting>>()
  let waitingNow = 0

  function leave(subject: string, waiting: Waiting): boolean {
    const line = lines.get(subject)
    if (line?.delete(waiting) !== true) return false
    waitingNow -= 1
    if (line.size === 0) lines.delete(subject)
    return true
  }

  function beginNext(): void {
    for (const [subject, line] of lines) {
      if (underWay.size >= places) return
      if (underWay.has(subject)) continue
      const [first] = line
      if (first === undefined) continue
      leave(subject, first)
      // The others of this subject come behind those of everybody else.
      if (line.size > 0) {
        lines.delete(subject)
        lines.set(subject, line)
      }
      underWay.add(subject)
      first.begin()
    }
  }

  function takeTurn(subject: string, gone: AbortSignal | undefined): Promise<void> {
    const line = lines.get(subject) ?? new Set()
    if (line.size >= waitingEach) throw full('subject', line.size)
    if (waitingNow >= waitingInAll) throw full('all', waitingNow)
    const turn = Promise.withResolvers<void>()
    const waiting: Waiting = {
      begin() {
        gone?.removeEventListener('abort', giveUp)
        turn.resolve()
      },
    }
    const giveUp = (): void => {
      if (leave(subject, waiting)) turn.reject(gone?.reason)
    }
    gone?.addEventListener('abort', giveUp, { once: true })
    line.add(waiting)
    lines.set(subject, line)
    waitingNow += 1
    beginNext()
    return turn.promise
  }

  return {
    async run(subject, work, gone) {
      gone?.throwIfAborted()
      await takeTurn(subject, gone)
      const begunAt = now()
      const giveBack = (): void => {
        underWay.delete(subject)
        beginNext()
      }
      try {
        return await work()
      } finally {
        if (rest === undefined) giveBack()
        else rest(now() - begunAt).then(giveBack, giveBack)
      }
    },
  }
}
