import { linesOf } from './read-text.ts'
import { SignalRefusal } from './refusal.ts'
import { givenUp, reasonOf, type Transport, withQuery } from './transport.ts'
import type { Verdict } from './types.ts'

/** Which recorded verdicts are wanted; several values of one field are separated by commas. */
export interface VerdictFilter {
  readonly exchange?: string
  readonly coin?: string
  readonly timeframe?: string
  readonly call?: string
  /** Bars that close at this instant or later, ISO 8601. */
  readonly from?: string
  /** Bars that close before this instant. */
  readonly to?: string
  /** The cursor of a row: verdicts after it. */
  readonly after?: string
  /** The log as it was: an instant or a position; what was recorded later is left out of a replay. */
  readonly as_of?: string
  /** Rows of a replay at most. */
  readonly limit?: number
}

/** A long page costs its reader nothing: rows are taken as they come, and a page that is cut off goes on at its cursor. */
const PAGE_ROWS = 50_000
const RECONNECT_MS = 1_000
/** Three heartbeats of a stream: a line that says nothing for so long is dead. */
const SILENT_MS = 45_000

/** Recorded verdicts in the order of the log, to its end. */
export async function* replay(
  transport: Transport,
  { limit = Number.POSITIVE_INFINITY, ...filter }: VerdictFilter,
  signal: AbortSignal | undefined,
): AsyncGenerator<Verdict, void, void> {
  let { after } = filter
  let left = limit
  let failures = 0
  while (left > 0) {
    const asked = Math.min(left, PAGE_ROWS)
    const path = withQuery('/api/verdicts', { ...filter, after, limit: asked })
    const response = await transport.persist(
      () => transport.rows(path, 'application/x-ndjson', signal),
      signal,
    )
    // A search that found nothing for long names the cursor to go on from.
    const goOn = response.headers.get('x-next-cursor') ?? undefined
    let count = 0
    try {
      for await (const line of linesOf(response)) {
        if (line === '') continue
        const row = JSON.parse(line) as Verdict
        yield row
        after = row.cursor
        count += 1
      }
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof SignalRefusal) throw error
      failures = count === 0 ? failures + 1 : 1
      const reason = `the replay was cut off: ${reasonOf(error)}`
      if (failures >= transport.tries) throw givenUp(reason, RECONNECT_MS, error)
      await transport.retry(reason, RECONNECT_MS, signal)
      left -= count
      continue
    }
    const isStuck = count === 0 && goOn === after
    if (isStuck || (count < asked && goOn === undefined)) return
    after = goOn ?? after
    left -= count
  }
}

/** Recorded verdicts as their windows close, without end. A service that was there once is waited for. */
export async function* follow(
  transport: Transport,
  { limit: _all, ...filter }: VerdictFilter,
  signal: AbortSignal | undefined,
): AsyncGenerator<Verdict, void, void> {
  let { after } = filter
  let wasThere = false
  const isStopped = (): boolean => signal?.aborted === true
  while (!isStopped()) {
    let reason = 'the stream has ended'
    try {
      const path = withQuery('/api/verdicts/stream', { ...filter, after })
      const response = await transport.persist(
        () => transport.rows(path, 'text/event-stream', signal),
        signal,
      )
      if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
        await response.body?.cancel()
        throw new SignalRefusal('unreadable', 'the answer is no stream of events: is this the address?')
      }
      wasThere = true
      let event = ''
      for await (const line of linesOf(response, SILENT_MS)) {
        if (line.startsWith('event: ')) event = line.slice(7)
        if (!line.startsWith('data: ') || event !== 'verdict') continue
        const row = JSON.parse(line.slice(6)) as Verdict
        yield row
        after = row.cursor
      }
    } catch (error) {
      if (isStopped()) return
      const isAway = wasThere && error instanceof SignalRefusal && error.code === 'given_up'
      if (error instanceof SignalRefusal && !isAway) throw error
      reason = `the stream was cut off: ${reasonOf(error)}`
    }
    if (isStopped()) return
    await transport.retry(reason, RECONNECT_MS, signal).catch(() => undefined)
  }
}
