import { seriesName } from '../../../contracts/series.ts'
import { keepSpeech, labelUnfollowed } from '../../engine/index.ts'
import type { EngineDeps, EngineParts } from './engine-parts.ts'
import { newestVerdicts } from './newest-verdicts.ts'

const GO_ON_AFTER_MS = 30_000

const nothing = (): Promise<void> => Promise.resolve()

/** Begins what an engine process does beside following the market; each settles when the signal ends it. */
export function workBesideMarket(options: EngineDeps, parts: EngineParts): Promise<unknown>[] {
  const { log, signal, watchList, projector } = options
  const { sleep, hasPresent, leases, universes } = parts

  /** A failure of this work must not end the run over the market. */
  async function goOn(what: string, work: () => Promise<void>): Promise<void> {
    // It decides by read models, which may be built at a start.
    await projector?.caughtUp(signal)
    while (!signal.aborted) {
      try {
        return await work()
      } catch (error) {
        log.error({ err: error, againInMs: GO_ON_AFTER_MS }, `${what} broke off, and begins again`)
        await sleep(GO_ON_AFTER_MS, signal)
      }
    }
  }

  const work = [goOn('labelling verdicts not followed any more', () => labelOthers(options, parts))]
  if (hasPresent) {
    work.push(goOn('ranking coins', () => universes.run(watchList.exchanges, signal)))
    // A market that is replayed at full speed is over before anybody could obey.
    work.push(goOn('watching how the model does', () => watchSpeech(options, parts)))
  }
  // Nothing has to be stopped when a lease ends: work under way is appended, or finds its fact in the log already.
  if (leases !== undefined) work.push(leases.run({ gained: nothing, lost: nothing }, signal))
  return work
}

/** In a recorded market nothing comes later: the next replay labels it. */
async function labelOthers(
  { projector, feed, watchList, platform, signal, log }: EngineDeps,
  { newOutcomes, outcomes, board, clock, sleep }: EngineParts,
): Promise<void> {
  if (projector === undefined || feed.kind === 'recorded') return
  await labelUnfollowed({
    store: platform.store,
    outcomes: newOutcomes(),
    newestVerdicts: () => newestVerdicts(projector),
    isFollowed: (series) => watchList.has(series) || board.get(series) !== undefined,
    isGone: (series) => feed.isGone(series),
    followed: outcomes,
    batches: (request) => feed.batches(request),
    clock,
    sleep,
    signal,
    onFailure: (series, error) =>
      log.warn(
        { err: error, series: seriesName(series) },
        'verdicts not followed any more wait for outcomes',
      ),
  })
}

const watchSpeech = (
  { platform: { store, idOf }, speech, signal, log }: EngineDeps,
  { leases, sleep }: EngineParts,
): Promise<void> =>
  keepSpeech({
    store,
    idOf,
    rows: () => speech.rows(),
    // Of those that share the log, the one that records the first exchange.
    mayDecide: () => leases === undefined || leases.held().some(({ shard }) => shard === 0),
    now: () => performance.now(),
    sleep,
    signal,
    onFailure: (error) => log.warn({ err: error }, 'a change of speech waits for the event store'),
  })
