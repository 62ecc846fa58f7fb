import { seriesName } from '../../../contracts/domain/series.ts'
import { labelUnfollowed } from '../../engine/index.ts'
import type { EngineDeps, EngineParts } from './engine-parts.ts'
import { newestVerdicts } from './newest-verdicts.ts'

const RETRY_MS = 30_000

/** Starts what an engine process does besides following the market; each job settles when the signal ends it. */
export function startEngineJobs(deps: EngineDeps, parts: EngineParts): Promise<unknown>[] {
  const { log, signal, watchList, projector } = deps
  const { sleep, hasPresent, leases, universes } = parts

  /** A failure of a job must not end the run over the market. */
  async function keepDoing(name: string, job: () => Promise<void>): Promise<void> {
    // It decides by read models, which may be built at a start.
    await projector?.caughtUp(signal)
    while (!signal.aborted) {
      try {
        return await job()
      } catch (error) {
        log.error({ err: error, againInMs: RETRY_MS }, `${name} failed; restarting`)
        await sleep(RETRY_MS, signal)
      }
    }
  }

  const jobs = [keepDoing('labelling verdicts not followed any more', () => labelOthers(deps, parts))]
  if (hasPresent) jobs.push(keepDoing('ranking coins', () => universes.run(watchList.exchanges, signal)))
  // Nothing has to be stopped when a lease ends: work under way is appended, or finds its fact in the log already.
  const nothing = async (): Promise<void> => undefined
  if (leases !== undefined) jobs.push(leases.run({ gained: nothing, lost: nothing }, signal))
  return jobs
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
        'verdicts wait for outcomes; they are tried again',
      ),
  })
}
