import { isServiceError } from '../../contracts/errors.ts'
import type { NewEvent } from '../../contracts/event.ts'
import type { SpanStart, Tracing } from '../runtime/tracing/tracing.ts'
import type { EventStore } from './event-store.ts'

/** Told of each append, traced or not. */
export type AppendDone = (append: {
  readonly durationS: number
  /** Code of the error; undefined where it was appended. */
  readonly error: string | undefined
}) => void

export interface TraceAppendsOptions {
  /** Nothing is traced where it is left out. */
  readonly tracing?: Tracing | undefined
  /** `db.system.name` of OpenTelemetry. */
  readonly system: string
  readonly done: AppendDone
  /** Monotonic, milliseconds. */
  readonly monotonic: () => number
}

/**
 * The store, with a span and a duration for each append. The span goes on in `meta`, so that each reader of the log
 * follows it.
 */
export function traceAppends(store: EventStore, options: TraceAppendsOptions): EventStore {
  const { tracing, system, done, monotonic } = options
  const append: EventStore['append'] = async (stream, events, expected) => {
    const startedAt = monotonic()
    const given = events[0]?.meta.traceparent
    const begin = (): SpanStart => startOf(stream, events.length, system)
    const span = given === undefined ? tracing?.enter(begin()) : tracing?.follow(begin(), given)
    let error: string | undefined
    try {
      const traced = span === undefined ? events : events.map(carrying(given, span.traceparent))
      return await store.append(stream, traced, expected)
    } catch (fault) {
      error = isServiceError(fault) ? fault.code : 'internal_error'
      throw fault
    } finally {
      span?.end({ error })
      done({ durationS: (monotonic() - startedAt) / 1_000, error })
    }
  }
  return { ...store, append }
}

/** The kind of a stream is what stands in front of its first hyphen; the rest may name somebody. */
function startOf(stream: string, events: number, system: string): SpanStart {
  const kind = stream.slice(0, Math.max(0, stream.indexOf('-')))
  const attributes = {
    'db.system.name': system,
    'db.operation.name': 'append',
    'db.operation.batch.size': events,
    'db.collection.name': kind,
  }
  return { name: `append ${kind}`, kind: 'client', attributes }
}

const carrying =
  (given: string | undefined, traceparent: string) =>
  (event: NewEvent): NewEvent =>
    event.meta.traceparent === given ? { ...event, meta: { ...event.meta, traceparent } } : event
