import type { Series } from '../../../contracts/domain/series.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { type ErrorCode, ServiceError } from '../../../contracts/errors/errors.ts'
import { verdictStream } from '../../../contracts/events/streams.ts'
import { collect } from '../../log/event-store.contract.ts'
import type { EventStore } from '../../log/event-store.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import type { VerdictDraft } from '../engine.ts'

/** The common options of all recorders, with pauses that take no time. */
export const recordingOver = (store: EventStore) => ({
  store,
  signal: new AbortController().signal,
  idOf: createFactIds(Buffer.from('secret')),
  sleep: async (_milliseconds: number): Promise<void> => undefined,
})

/** A verdict as an engine makes it, before it is recorded. */
export function aDraft(change: Partial<VerdictDraft> = {}): VerdictDraft {
  const { verdictId: _none, ...draft } = aVerdict(change)
  return draft
}

/** The verdicts of a series in the log. */
export const verdictsOf = async (store: EventStore, series: Series): Promise<Verdict[]> =>
  (await collect(store.read(verdictStream(series)))).flatMap(({ type, data }) =>
    type === 'VerdictRecorded' ? [data as Verdict] : [],
  )

/** A store whose next appends fail: before they happened, or after. */
export const failingAppends = (
  store: EventStore,
  failures: (ErrorCode | { readonly after: ErrorCode })[],
): EventStore => ({
  ...store,
  async append(...args) {
    const failure = failures.shift()
    if (failure === undefined) return store.append(...args)
    if (typeof failure === 'string') throw new ServiceError(failure)
    await store.append(...args)
    throw new ServiceError(failure.after)
  },
})
