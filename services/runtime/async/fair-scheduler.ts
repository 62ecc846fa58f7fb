import type { Clock } from './clock.ts'

/** Work that takes turns with other work, of several owners. */
export interface FairScheduler {
  /** @param owner whose work it is: of those who wait, the owner who was served the longest ago is served next */
  join(owner: string): Turn
}

/** One piece of work. It runs between `begin` and `release`, and nobody else's does meanwhile. */
export interface Turn {
  begin(): Promise<void>
  /** Whether it has run for as long as a turn may take. */
  isOver(): boolean
  /** Lets the others go first. */
  again(): Promise<void>
  release(): void
  /** The work has ended, wherever it stood. */
  leave(): void
}

export interface FairSchedulerOptions extends Pick<Clock, 'now'> {
  /** How long a turn may take, milliseconds. */
  readonly turnMs: number
  /** Awaited between two turns: what else there is to do on the thread is done meanwhile. */
  readonly rest: (ranMs: number) => Promise<void>
}

interface Waiting {
  readonly owner: string
  readonly turn: Turn
  readonly start: () => void
}

/**
 * Shares a thread among long pieces of work: one runs at a time and for a short while, and between owners it goes
 * round, so that somebody with many pieces gets no more than somebody with one.
 *
 * @example
 * const turn = scheduler.join(address)
 * await turn.begin()
 * for (const row of rows) { if (turn.isOver()) await turn.again(); … }
 * turn.leave()
 */
export function createFairScheduler({ turnMs, rest, now }: FairSchedulerOptions): FairScheduler {
  const waiting: Waiting[] = []
  const works = new Map<string, number>()
  /** When an owner was served last, by number; who was not served yet is missing and comes first. */
  const servedAt = new Map<string, number>()
  let served = 0
  let running: Turn | undefined
  let since = 0
  let isResting = false

  function next(): void {
    if (running !== undefined || isResting) return
    let best = 0
    for (const [index, { owner }] of waiting.entries()) {
      const bestOwner = waiting[best]?.owner ?? owner
      if ((servedAt.get(owner) ?? 0) < (servedAt.get(bestOwner) ?? 0)) best = index
    }
    const [chosen] = waiting.splice(best, 1)
    if (chosen === undefined) return
    running = chosen.turn
    servedAt.set(chosen.owner, ++served)
    since = now()
    chosen.start()
  }

  function stop(turn: Turn): void {
    if (running !== turn) return
    running = undefined
    isResting = true
    void rest(now() - since).finally(() => {
      isResting = false
      next()
    })
  }

  return {
    join(owner) {
      let isThere = false
      const turn: Turn = {
        begin() {
          if (!isThere) works.set(owner, (works.get(owner) ?? 0) + 1)
          isThere = true
          return new Promise((start) => {
            waiting.push({ owner, turn, start })
            next()
          })
        },
        isOver: () => running === turn && now() - since >= turnMs,
        again() {
          stop(turn)
          return turn.begin()
        },
        release: () => stop(turn),
        leave() {
          stop(turn)
          if (!isThere) return
          isThere = false
          const left = (works.get(owner) ?? 1) - 1
          if (left > 0) works.set(owner, left)
          else {
            works.delete(owner)
            servedAt.delete(owner)
          }
        },
      }
      return turn
    },
  }
}
