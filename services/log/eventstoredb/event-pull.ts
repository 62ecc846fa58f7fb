import type { ResolvedEvent } from '@eventstore/db-client'

/** A call that streams events: a read or a subscription of the client. */
export interface EventSource {
  /** The used part of a `Readable`; the client's types are of another version of Node's. */
  readonly stream: {
    read(): unknown
    readonly readableLength: number
    on(event: string, listener: (...args: unknown[]) => void): unknown
  }
  /** Ends the call on the server. */
  readonly cancel: () => Promise<void>
}

/** Takes events out of a stream one by one, so that what is not taken stays with the server. */
export interface EventPull {
  /** The next event, or undefined where none is at hand; throws the stream's error. */
  take(): ResolvedEvent | undefined
  /** Whether the stream has ended and everything was taken. */
  readonly ended: boolean
  /** Events that are at hand. */
  readonly ready: number
  /** Resolves once there may be something to take. */
  change(): Promise<void>
  /** Wakes the reader that waits for a change. */
  readonly wake: () => void
  /** Ends the call on the server. */
  cancel(): void
}

/** Calls that stream events, each of which can be given up from outside. */
export type EventPulls = Set<(error: unknown) => void>

/**
 * Takes hold of a stream. Call it in the turn that made the stream: an error nobody listens for is thrown. @param pulls
 * has it until it is cancelled
 */
export function pullEvents({ stream, cancel }: EventSource, pulls: EventPulls = new Set()): EventPull {
  let failure: { readonly error: unknown } | undefined
  let ended = false
  let hasChanged = false
  let resolveChange: (() => void) | undefined

  const wake = (): void => {
    hasChanged = true
    resolveChange?.()
    resolveChange = undefined
  }
  stream.on('readable', wake)
  stream.on('end', () => {
    ended = true
    wake()
  })
  const fail = (error: unknown): void => {
    failure ??= { error }
    wake()
  }
  stream.on('error', fail)
  pulls.add(fail)

  return {
    take() {
      const next = stream.read() as ResolvedEvent | null
      if (next !== null) return next
      if (failure !== undefined) throw failure.error
      return undefined
    },
    get ended() {
      return ended
    },
    get ready() {
      return stream.readableLength
    },
    change() {
      if (hasChanged) {
        hasChanged = false
        return Promise.resolve()
      }
      return new Promise((resolve) => {
        resolveChange = () => {
          hasChanged = false
          resolve()
        }
      })
    },
    wake,
    cancel() {
      pulls.delete(fail)
      // What has been sent already is taken: a call whose answers nobody takes never ends, and closing waits for it.
      const drop = (): void => {
        while (stream.read() !== null);
      }
      stream.on('readable', drop)
      drop()
      // Rejects only where the call could not be made, which is the stream's error too.
      cancel().catch(fail)
    },
  }
}
