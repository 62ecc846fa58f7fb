import { createHash } from 'node:crypto'
import type { Clock } from '../../services/runtime/async/clock.ts'

/** Ends something that is to happen later; nothing where it has happened. */
export type Cancel = () => void

/** The only clock of a simulation, and everything that is to happen by it. */
export interface SimulatedTime extends Pick<Clock, 'now'> {
  /** Lets something happen in so many milliseconds; at one instant, in the order of asking. */
  readonly after: (milliseconds: number, work: () => void) => Cancel
  /** Resolves in so many milliseconds, or with the signal. */
  readonly sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>
  /** Adds a line to what is told of this run. */
  note(line: string): void
  /** Lets things happen, one at a time, until the work has an outcome. */
  run<Value>(work: () => Promise<Value>): Promise<Value>
  /** How many things have happened. */
  steps(): number
  /** SHA-256 of all that was noted, and when: the same for two runs that were the same. */
  trace(): string
}

interface Task {
  readonly at: number
  /** Decides between two that are due at one instant. */
  readonly order: number
  work: (() => void) | undefined
}

const isBefore = (one: Task, other: Task): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)

/** @param onNote sees each line as it is noted, for whoever replays a seed */
export function createSimulatedTime(start: number, onNote?: (line: string) => void): SimulatedTime {
  const hash = createHash('sha256')
  const tasks = createHeap()
  let now = start
  let order = 0
  let steps = 0

  function after(milliseconds: number, work: () => void): Cancel {
    const task: Task = { at: now + Math.max(0, milliseconds), order: order++, work }
    tasks.push(task)
    return () => {
      task.work = undefined
    }
  }

  return {
    now: () => Math.floor(now),
    after,
    sleep(milliseconds, signal) {
      if (milliseconds <= 0 || signal?.aborted === true) return Promise.resolve()
      const { promise, resolve } = Promise.withResolvers<void>()
      const cancel = after(milliseconds, wake)
      function wake(): void {
        cancel()
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      signal?.addEventListener('abort', wake)
      return promise
    },
    note(line) {
      const text = `${(now - start).toFixed(3)} ${line}`
      hash.update(text)
      onNote?.(text)
    },
    run: (work) =>
      new Promise((resolve, reject) => {
        let outcome: (() => void) | undefined
        work().then(
          (value) => (outcome = () => resolve(value)),
          (error: unknown) => (outcome = () => reject(error)),
        )
        // What follows from one thing comes before the next: microtasks run out before a tick, and no turn of the event
        // loop comes in between, so that nothing from outside does.
        const soon = (): void => queueMicrotask(() => process.nextTick(step))
        function step(): void {
          if (outcome !== undefined) return outcome()
          const task = tasks.pop()
          if (task === undefined) return reject(new Error('nothing is left that could happen: the run hangs'))
          if (task.work === undefined) return step()
          now = Math.max(now, task.at)
          steps += 1
          task.work()
          soon()
        }
        soon()
      }),
    steps: () => steps,
    trace: () => hash.copy().digest('hex'),
  }
}

/** The earliest task on top. */
function createHeap() {
  const heap: Task[] = []
  const swap = (a: number, b: number): void => {
    const [one, other] = [heap[a] as Task, heap[b] as Task]
    heap[a] = other
    heap[b] = one
  }
  const isAhead = (a: number, b: number): boolean => isBefore(heap[a] as Task, heap[b] as Task)
  return {
    push(task: Task): void {
      let at = heap.push(task) - 1
      for (let up = (at - 1) >> 1; at > 0 && isAhead(at, up); at = up, up = (at - 1) >> 1) swap(at, up)
    },
    pop(): Task | undefined {
      const top = heap[0]
      const last = heap.pop()
      if (last === undefined || heap.length === 0) return top
      heap[0] = last
      for (let at = 0; ; ) {
        let least = at
        for (const child of [2 * at + 1, 2 * at + 2]) {
          if (child < heap.length && isAhead(child, least)) least = child
        }
        if (least === at) return top
        swap(at, least)
        at = least
      }
    },
  }
}
