import type { RecordedEvent } from '../../contracts/event.ts'
import type { Clock } from '../runtime/async/clock.ts'
import type { EventStore } from './event-store.ts'

export interface PacerOptions extends Pick<Clock, 'now'> {
  /** How long one reading works at a stretch. */
  readonly sliceMs: number
  /** How long it rests for each millisecond that it worked. */
  readonly restRatio: number
  readonly sleep: (milliseconds: number) => Promise<void>
}

/**
 * A log whose reading is paced, for long looks that somebody else asked for. Rests are taken one after the other, so that
 * many readings together work no more than one would: with a ratio of 2, half of the time at most.
 */
export function pacedReads(
  store: Pick<EventStore, 'read' | 'readAll' | 'head'>,
  { sliceMs, restRatio, now, sleep }: PacerOptions,
): Pick<EventStore, 'read' | 'readAll' | 'head'> {
  let resting: Promise<void> = Promise.resolve()
  async function* paced(events: AsyncIterable<RecordedEvent>): AsyncGenerator<RecordedEvent, void, void> {
    let begunAt = now()
    for await (const event of events) {
      const workedMs = now() - begunAt
      if (workedMs >= sliceMs) {
        resting = resting.then(() => sleep(workedMs * restRatio))
        await resting
        begunAt = now()
      }
      yield event
    }
  }
  return {
    read: (stream, options) => paced(store.read(stream, options)),
    readAll: (options) => paced(store.readAll(options)),
    head: () => store.head(),
  }
}
