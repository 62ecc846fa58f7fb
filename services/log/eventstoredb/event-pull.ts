import type { Readable } from 'node:stream'
import { createWakeSignal } from '../../runtime/async/wake-signal.ts'
import type { ReadAnswer } from './read-message.ts'

/** A call that streams answers. */
export type ReadCall = Readable & { cancel(): void }

/** Calls that stream events, each of which can be given up from outside. */
export type EventPulls = Set<(error: unknown) => void>

/** Answers that wait to be taken before the server has to wait. */
const MOST_WAITING = 64

/**
 * Takes events out of a call one by one, so that what is not taken stays with the server.
 * @param pulls has the call until it is cancelled
 */
export function pullEvents(opening: Promise<ReadCall>, pulls: EventPulls = new Set()) {
  const changes = createWakeSignal()
  let call: ReadCall | undefined
  let waiting: Exclude<ReadAnswer, 'other'>[] = []
  let taken = 0
  let isGivenUp = false
  let isEnded = false
  let failure: { readonly error: unknown } | undefined

  const fail = (error: unknown): void => {
    failure ??= { error }
    changes.notify()
  }
  const giveUp = (error: unknown): void => {
    isGivenUp = true
    fail(error)
  }
  function begin(begun: ReadCall): void {
    call = begun
    call.on('error', fail)
    call.on('end', () => {
      isEnded = true
      changes.notify()
    })
    call.on('data', (answer: ReadAnswer) => {
      if (answer !== 'other' && !isGivenUp && waiting.push(answer) >= MOST_WAITING) begun.pause()
      changes.notify()
    })
  }
  pulls.add(giveUp)
  const began = opening.then(begin, fail)

  return {
    /** Told where there may be something to take. */
    changes,
    /** The next event, or the word that all has come; undefined where nothing is at hand. @throws the call's error */
    take() {
      const next = waiting[taken++]
      if (next !== undefined) return next
      if (waiting.length >= MOST_WAITING) call?.resume()
      waiting = []
      taken = 0
      if (failure !== undefined && (isGivenUp || (call?.readableLength ?? 0) === 0)) throw failure.error
      return undefined
    },
    /** Whether the call has ended and everything was taken. */
    get ended() {
      return isEnded && taken >= waiting.length
    },
    /** Ends the call on the server. */
    cancel() {
      pulls.delete(giveUp)
      isGivenUp = true
      // A call whose answers nobody takes never ends, and closing waits for it. It is ended a turn later, since one that
      // is ended while it gives an answer gives another one behind its end.
      void began.then(() => call?.resume()).then(() => setImmediate(() => call?.cancel()))
    },
  }
}
