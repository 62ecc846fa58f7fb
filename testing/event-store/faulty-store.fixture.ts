import { ServiceError } from '../../contracts/errors/errors.ts'
import type { EventStore } from '../../services/log/event-store.ts'
import type { Clock } from '../../services/runtime/async/clock.ts'
import { openMemoryStore } from '../memory-store/memory-store.ts'

/** Outcome of one append. */
export type AppendFault =
  /** It happens, and its answer is lost. */
  | 'lost-after'
  /** It does not happen, and nobody says so. */
  | 'lost-before'
  | 'away'
  | 'full'
  /** It has its place in the stream, which nobody can read yet; the answer is lost. */
  | 'unreadable'
  /** It is told as a conflict though its place is its own: what a store does that forgets. */
  | 'false-conflict'

/** A log with everything that can happen to an append, and time that passes only when somebody sleeps. */
export interface FaultyWorld extends Pick<Clock, 'now' | 'sleep'> {
  readonly store: EventStore
  /** The same log, as another process sees it. */
  readonly others: EventStore
  /** Outcomes of the next appends, in their order. */
  readonly faults: AppendFault[]
  /** Until when the store answers nothing, reads included. */
  awayUntil: number
  /** Done right before the next append: what another process does meanwhile. */
  meanwhile: (() => Promise<unknown>) | undefined
  /** Pauses that were made. */
  readonly pauses: number[]
  /** Appends that were sent. */
  appends: number
  readonly newId: () => string
  readonly ending: AbortController
  /** Makes readable what was not. */
  show(): void
}

export function createFaultyWorld(startMs = Date.UTC(2026, 10, 22)): FaultyWorld {
  let clock = startMs
  let ids = 0
  let hidden: string | undefined
  const inner = openMemoryStore({ now: () => clock })
  const requireThere = (): void => {
    if (clock < world.awayUntil) throw new ServiceError('store_unavailable', { message: 'away by the test' })
  }

  const store: EventStore = {
    ...inner,
    async append(stream, events, options) {
      requireThere()
      const { meanwhile } = world
      world.meanwhile = undefined
      await meanwhile?.()
      world.appends += 1
      const fault = world.faults.shift()
      if (fault === 'away') throw new ServiceError('store_unavailable')
      if (fault === 'full') throw new ServiceError('store_full')
      if (fault === 'lost-before') throw new ServiceError('append_unknown')
      if (hidden === stream)
        throw new ServiceError('append_unknown', { message: 'taken, and not readable yet' })
      const result = await inner.append(stream, events, options)
      if (fault === 'unreadable') hidden = stream
      if (fault === 'lost-after' || fault === 'unreadable') throw new ServiceError('append_unknown')
      if (fault === 'false-conflict') {
        throw new ServiceError('revision_conflict', {
          details: { expected: options.expected, actual: result.revision },
        })
      }
      return result
    },
    async *read(stream, options) {
      requireThere()
      if (hidden !== stream) yield* inner.read(stream, options)
    },
    async head() {
      requireThere()
      return inner.head()
    },
  }

  const world: FaultyWorld = {
    store,
    others: inner,
    faults: [],
    awayUntil: 0,
    meanwhile: undefined,
    pauses: [],
    appends: 0,
    now: () => clock,
    async sleep(milliseconds) {
      world.pauses.push(milliseconds)
      clock += milliseconds
    },
    newId: () => `019abcde-7c00-7001-8000-${String(++ids).padStart(12, '0')}`,
    ending: new AbortController(),
    show() {
      hidden = undefined
    },
  }
  return world
}
