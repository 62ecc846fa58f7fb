/** A line for work that costs much: a few pieces at a time, one of each subject, and the subjects in rotation. */
export interface Line {
  /**
   * Waits for a place. `gone` is aborted when nobody waits for the work any more. @returns gives the place back, however
   * the work ends @throws what `full` makes; the reason of `gone`
   */
  enter(subject: string, gone?: AbortSignal): Promise<() => void>
}

export interface LineOptions {
  /** Pieces of work at a time. */
  readonly places: number
  /** Pieces of work of one subject that are in the line or under way. */
  readonly each: number
  /** Pieces of work of all subjects that wait. */
  readonly waiting: number
  /** How long a place rests after work that took so long, while so many wait; the result does not wait for it. */
  readonly restMs?: (workedMs: number, waiting: number) => number
  /**
   * A place that is held for longer is given on. Work that takes so long waits for something, which takes nothing from
   * others. It goes on without a place, and is one of its subject's until it ends.
   */
  readonly heldMs?: number
  /** Makes the refusal of somebody who finds no room in the line. */
  readonly full: (whose: 'subject' | 'all', count: number) => Error
  readonly time: LineTime
}

export interface LineTime {
  /** Milliseconds that only grow. */
  readonly elapsed: () => number
  /** @returns forgets it */
  readonly after: (milliseconds: number, run: () => void) => () => void
}

/** The time of this process, which these timers do not keep from ending. */
export const PROCESS_TIME: LineTime = {
  elapsed: () => performance.now(),
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds).unref()
    return () => clearTimeout(timer)
  },
}

interface Waiting {
  readonly begin: () => void
  readonly refuse: (error: Error) => void
}

interface Subject {
  /** Waiting or under way. */
  here: number
  readonly waiting: Set<Waiting>
}

/** The subjects in a line, the one that was served longest ago first. */
function createSubjects() {
  const subjects = new Map<string, Subject>()
  let waiting = 0
  return {
    here: (name: string): number => subjects.get(name)?.here ?? 0,
    waiting: (): number => waiting,
    join(name: string, one: Waiting): void {
      const subject = subjects.get(name) ?? { here: 0, waiting: new Set() }
      subject.here += 1
      subject.waiting.add(one)
      subjects.set(name, subject)
      waiting += 1
    },
    stopWaiting(name: string, one: Waiting): void {
      if (subjects.get(name)?.waiting.delete(one) === true) waiting -= 1
    },
    leave(name: string): void {
      const subject = subjects.get(name)
      if (subject !== undefined && --subject.here === 0) subjects.delete(name)
    },
    /** Everybody else has a turn before the next of this subject. */
    toTheEnd(name: string): void {
      const subject = subjects.get(name)
      if (subject !== undefined && subjects.delete(name)) subjects.set(name, subject)
    },
    next(served: ReadonlySet<string>): readonly [name: string, one: Waiting] | undefined {
      for (const [name, subject] of subjects) {
        const [first] = subject.waiting
        if (first !== undefined && !served.has(name)) return [name, first]
      }
      return undefined
    },
    /** The last one of the subject that has most, where that is more than so many. */
    lastOfMost(many: number): Waiting | undefined {
      let most: Subject | undefined
      for (const subject of subjects.values()) {
        if (subject.waiting.size > 0 && subject.here > (most?.here ?? many)) most = subject
      }
      return [...(most?.waiting ?? [])].at(-1)
    },
  }
}

/**
 * When as many wait as may, the subject with most of them loses its last one to a subject with fewer: a few subjects
 * that send all they may do not keep others out.
 */
export function createLine(options: LineOptions): Line {
  const { places, each, restMs, heldMs, full, time } = options
  const subjects = createSubjects()
  /** Subjects that have a place. */
  const served = new Set<string>()

  function beginNext(): void {
    while (served.size < places) {
      const next = subjects.next(served)
      if (next === undefined) return
      const [name, first] = next
      subjects.stopWaiting(name, first)
      served.add(name)
      first.begin()
    }
  }

  /** The place that a subject was just given. @returns gives it back */
  function hold(name: string): () => void {
    const begunAt = time.elapsed()
    let isHeld = true
    let isUnderWay = true
    const giveOn = (): void => {
      isHeld = false
      served.delete(name)
      subjects.toTheEnd(name)
      beginNext()
    }
    const cancel = heldMs === undefined ? undefined : time.after(heldMs, giveOn)
    return () => {
      if (!isUnderWay) return
      isUnderWay = false
      cancel?.()
      subjects.leave(name)
      if (!isHeld) return
      const rest = restMs?.(time.elapsed() - begunAt, subjects.waiting()) ?? 0
      if (rest > 0) time.after(rest, giveOn)
      else giveOn()
    }
  }

  function requireRoom(name: string): void {
    const held = subjects.here(name)
    if (held >= each) throw full('subject', held)
    const waiting = subjects.waiting()
    if (waiting < options.waiting) return
    const last = subjects.lastOfMost(held + 1)
    if (last === undefined) throw full('all', waiting)
    last.refuse(full('all', waiting))
  }

  return {
    async enter(name, gone) {
      gone?.throwIfAborted()
      requireRoom(name)
      const turn = Promise.withResolvers<() => void>()
      const giveUp = (): void => waiting.refuse(gone?.reason as Error)
      const waiting: Waiting = {
        begin() {
          gone?.removeEventListener('abort', giveUp)
          turn.resolve(hold(name))
        },
        refuse(error) {
          gone?.removeEventListener('abort', giveUp)
          subjects.stopWaiting(name, waiting)
          subjects.leave(name)
          turn.reject(error)
        },
      }
      gone?.addEventListener('abort', giveUp, { once: true })
      subjects.join(name, waiting)
      beginNext()
      return turn.promise
    },
  }
}
