import type { RecordedEvent } from '../../contracts/event.ts'
import type { Clock } from '../runtime/async/clock.ts'
import type { EventStore } from './event-store.ts'

/** One long piece of work among several that share a pacer. */
export interface Stint {
  /** Whether it has worked for as long as it may at a stretch. Costs no more than a look at the clock. */
  isOver(): boolean
  /** Rests, and resolves when it may go on. */
  next(): Promise<void>
}

export interface PacerOptions extends Pick<Clock, 'now'> {
  /** How long one works at a stretch. */
  readonly sliceMs: number
  /** How long it rests for each millisecond that it worked. */
  readonly restRatio: number
  readonly sleep: (milliseconds: number) => Promise<void>
}

/** Keeps work that takes long from taking the event loop: it is done in slices, with rests between them. */
export interface Pacer {
  begin(): Stint
}

/**
 * Rests are taken one after the other, so that many together work no more than one would: with a ratio of 2, half of
 * the time at most.
 *
 * @example const stint = createPacer({ sliceMs: 3, restRatio: 2, now, sleep }).begin()
 */
export function createPacer({ sliceMs, restRatio, now, sleep }: PacerOptions): Pacer {
  let resting: Promise<void> = Promise.resolve()
  return {
    begin() {
      let begunAt = now()
      return {
        isOver: () => now() - begunAt >= sliceMs,
        async next() {
          const restMs = (now() - begunAt) * restRatio
          const mine = resting.then(() => sleep(restMs))
          resting = mine
          await mine
          begunAt = now()
        },
      }
    },
  }
}

/** A log whose reading is paced: for looks through it that may be long, and that somebody else asked for. */
export function pacedReads(
  store: Pick<EventStore, 'read' | 'readAll' | 'head'>,
  pacer: Pacer,
): Pick<EventStore, 'read' | 'readAll' | 'head'> {
  async function* paced(events: AsyncIterable<RecordedEvent>): AsyncGenerator<RecordedEvent, void, void> {
    const stint = pacer.begin()
    for await (const event of events) {
      if (stint.isOver()) await stint.next()
      yield event
    }
  }
  return {
    read: (stream, options) => paced(store.read(stream, options)),
    readAll: (options) => paced(store.readAll(options)),
    head: () => store.head(),
  }
}
