import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import type { Random } from '../cluster/random.ts'
import type { SimulatedTime } from './time.ts'

/** The simulation that owns the timers, clocks and dice of this Node.js; without one they are the real ones. */
let owner: { readonly time: SimulatedTime; readonly random: Random } | undefined

/** A timer of a simulation: the used part of Node's. */
class Timer {
  readonly cancel: () => void
  constructor(cancel: () => void) {
    this.cancel = cancel
  }
  unref(): this {
    return this
  }
  ref(): this {
    return this
  }
}

type Work = (...parameters: unknown[]) => void

/**
 * Everything of Node.js that knows the time, waits or draws by itself goes by the simulation that runs, so that no part of
 * the service can leave it: also where it takes no clock as an argument. Outside of a run all is as before.
 */
function takeOver(): void {
  const real = {
    setTimeout: globalThis.setTimeout,
    setInterval: globalThis.setInterval,
    setImmediate: globalThis.setImmediate,
    clearTimeout: globalThis.clearTimeout,
    clearImmediate: globalThis.clearImmediate,
    now: Date.now,
    elapsed: performance.now.bind(performance),
    random: Math.random,
    wait: timers.setTimeout,
    turn: timers.setImmediate,
  }
  const start = (work: Work, milliseconds: number, parameters: unknown[]): Timer =>
    new Timer(owner?.time.after(milliseconds, () => work(...parameters)) ?? (() => undefined))
  const clear =
    (otherwise: (timer: never) => void) =>
    (timer: unknown): void =>
      timer instanceof Timer ? timer.cancel() : otherwise(timer as never)

  Object.assign(globalThis, {
    setTimeout: (work: Work, milliseconds = 0, ...parameters: unknown[]) =>
      owner ? start(work, milliseconds, parameters) : real.setTimeout(work, milliseconds, ...parameters),
    setImmediate: (work: Work, ...parameters: unknown[]) =>
      owner ? start(work, 0, parameters) : real.setImmediate(work, ...parameters),
    setInterval(work: Work, milliseconds: number, ...parameters: unknown[]) {
      if (owner === undefined) return real.setInterval(work, milliseconds, ...parameters)
      const { time } = owner
      let cancel = time.after(milliseconds, again)
      function again(): void {
        cancel = time.after(milliseconds, again)
        work(...parameters)
      }
      return new Timer(() => cancel())
    },
    clearTimeout: clear(real.clearTimeout),
    clearInterval: clear(real.clearTimeout),
    clearImmediate: clear(real.clearImmediate),
  })
  Date.now = () => owner?.time.now() ?? real.now()
  performance.now = () => owner?.time.now() ?? real.elapsed()
  Math.random = () => owner?.random.next() ?? real.random()
  Object.assign(timers, {
    setImmediate: (value?: unknown) =>
      owner ? owner.time.sleep(Number.MIN_VALUE).then(() => value) : real.turn(value),
    setTimeout: (milliseconds: number, value?: unknown, options?: { signal?: AbortSignal }) =>
      owner
        ? owner.time.sleep(milliseconds, options?.signal).then(() => value)
        : real.wait(milliseconds, value, options),
  })
  syncBuiltinESMExports()
}

let isTakenOver = false

/** Runs with all of Node's own clocks, timers and dice in the hands of a simulation. Not twice at a time. */
export async function withOwnNode<Value>(
  hands: { readonly time: SimulatedTime; readonly random: Random },
  work: () => Promise<Value>,
): Promise<Value> {
  if (!isTakenOver) takeOver()
  isTakenOver = true
  if (owner !== undefined) throw new Error('one simulation at a time')
  owner = hands
  try {
    return await hands.time.run(work)
  } finally {
    owner = undefined
  }
}
