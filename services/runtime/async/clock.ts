/** Time as an argument, so that tests and the simulator own it. */
export interface Clock {
  /** Wall clock, Unix milliseconds: for what is recorded or shown. It may be set at any moment, back too. */
  readonly now: () => number
  /** Milliseconds that only grow, from some beginning of this process: for how long something takes. */
  readonly elapsed: () => number
  /** Waits, or returns at once when the signal is aborted. Never rejects. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
}
