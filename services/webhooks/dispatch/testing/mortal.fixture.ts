import { ServiceError } from '../../../../contracts/errors/errors.ts'
import type { EventStore } from '../../../log/event-store.ts'
import type { Clock } from '../../../runtime/async/clock.ts'
import type { Bus } from '../../../runtime/bus/bus.ts'
import type { Sender } from '../../sending/sender.ts'

/** The part of the world that a process that can be killed reaches. */
export interface Mortal extends Pick<Clock, 'sleep'> {
  readonly store: EventStore
  readonly bus: Bus
  readonly sender: Sender
  readonly isDead: boolean
  /** Nothing of it has any effect from here on, and nothing that it waits for ever answers. */
  kill(): void
  /**
   * Kills it with its n-th call from here on: before the call has its effect, or behind it and before the answer.
   *
   * @param behind the call has its effect
   */
  killAt(calls: number, behind: boolean): void
  /** The store's next answers are lost, or its calls refused, by what is drawn for each. */
  problem(draw: (() => 'none' | 'lost' | 'refused') | undefined): void
}

const never = new Promise<never>(() => {})

/** A process as its memory: dropped at any of its awaits, it leaves behind what it had appended and sent. */
export function createMortal(world: {
  readonly store: EventStore
  readonly bus: Bus
  readonly sender: Sender
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
}): Mortal {
  const dead = new AbortController()
  let left: { calls: number; readonly behind: boolean } | undefined
  let draw: (() => 'none' | 'lost' | 'refused') | undefined
  const isDead = (): boolean => dead.signal.aborted

  /** One call to the world; it may be the last. */
  async function call<Value>(work: () => Promise<Value>): Promise<Value> {
    if (isDead()) return never
    let isLast = false
    if (left !== undefined) {
      left.calls -= 1
      isLast = left.calls <= 0
    }
    if (isLast && left?.behind === false) dead.abort()
    if (isDead()) return never
    const work1 = work()
    if (isLast) dead.abort()
    const drained = await work1.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    if (isDead()) return never
    if ('error' in drained) throw drained.error
    return drained.value
  }

  async function* iterate<Item>(of: () => AsyncIterable<Item>): AsyncGenerator<Item, void, void> {
    if (draw?.() === 'refused') throw new ServiceError('store_unavailable')
    const iterator = of()[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = await call(() => iterator.next())
        if (next.done === true) return
        yield next.value
      }
    } finally {
      if (!isDead()) await iterator.return?.()
    }
  }

  const store: EventStore = {
    ...world.store,
    head: () => call(() => world.store.head()),
    async append(...append) {
      const fault = draw?.() ?? 'none'
      if (fault === 'refused') throw new ServiceError('store_unavailable')
      const result = await call(() => world.store.append(...append))
      if (fault === 'lost') throw new ServiceError('append_unknown')
      return result
    },
    read: (...read) => iterate(() => world.store.read(...read)),
    readAll: (...read) => iterate(() => world.store.readAll(...read)),
  }
  const bus: Bus = {
    ...world.bus,
    notify: (subject) => call(() => world.bus.notify(subject)),
    request: (...request) => call(() => world.bus.request(...request)),
    listen: (subject, listener, { signal }) =>
      world.bus.listen(subject, listener, { signal: AbortSignal.any([signal, dead.signal]) }),
    serve: (subject, handler, { signal }) =>
      world.bus.serve(subject, handler, { signal: AbortSignal.any([signal, dead.signal]) }),
  }
  return {
    store,
    bus,
    sender: { ...world.sender, send: (...send) => call(() => world.sender.send(...send)) },
    sleep: (milliseconds, signal) => call(() => world.sleep(milliseconds, signal)),
    get isDead() {
      return isDead()
    },
    kill: () => dead.abort(),
    killAt(calls, behind) {
      left = { calls, behind }
    },
    problem(of) {
      draw = of
    },
  }
}
