import { createLine, type LineOptions } from './line.ts'

/** Long pieces of work that share a thread: one runs at a time, each for a short while, and owners take turns. */
export interface Turns {
  /** @param owner an owner with many pieces of work gets no more than an owner with one */
  join(owner: string): Turn
}

/** One piece of work. It runs between `begin` and `release`; no other does meanwhile. */
export interface Turn {
  begin(): Promise<void>
  /** Whether it has run for as long as a turn may take. */
  isOver(): boolean
  /** Lets the others go first. */
  again(): Promise<void>
  /** May be called more than once. */
  release(): void
}

export interface TurnsOptions extends Pick<LineOptions, 'restMs' | 'time'> {
  /** How long a turn may take, milliseconds. */
  readonly turnMs: number
}

export function createTurns({ turnMs, ...options }: TurnsOptions): Turns {
  const noLimit = Number.POSITIVE_INFINITY
  const full = (): Error => new Error('a line without a limit is full')
  const line = createLine({ ...options, places: 1, each: noLimit, waiting: noLimit, full })
  return {
    join(owner) {
      let leave: (() => void) | undefined
      let begunAt = 0
      const turn: Turn = {
        async begin() {
          leave = await line.enter(owner)
          begunAt = options.time.elapsed()
        },
        isOver: () => leave !== undefined && options.time.elapsed() - begunAt >= turnMs,
        again() {
          turn.release()
          return turn.begin()
        },
        release() {
          leave?.()
          leave = undefined
        },
      }
      return turn
    },
  }
}
