import { seriesName } from '../../contracts/series.ts'
import { latestVerdicts } from '../../projections/index.ts'
import {
  createRemoteToolHandler,
  type NewestVerdicts,
  type RemoteToolHandler,
  recordedUniverse,
} from '../engine/index.ts'
import { sleep } from '../runtime/async/sleep.ts'
import type { Deps } from './open-deps.ts'

/** The tool handler of a process without the engine role. */
export function openRemoteToolHandler(
  {
    settings,
    platform,
    projector,
    feed,
    speech,
    log,
  }: Pick<Deps, 'settings' | 'platform' | 'projector' | 'feed' | 'speech' | 'log'>,
  publicUrl: () => string,
): RemoteToolHandler {
  const newest: NewestVerdicts | undefined =
    // Where a recorded market stands is known to the process that replays it only.
    projector === undefined || feed.kind === 'recorded'
      ? undefined
      : {
          verdict: (series) => projector.reader(latestVerdicts).get(seriesName(series))?.verdict,
          universe: (exchange) => recordedUniverse(platform.store, exchange),
          clock: () => feed.clock(),
          model: () => speech.champion(feed.clock()),
          withdrawn: (timeframe) => speech.withdrawn(timeframe, feed.clock()),
        }
  return createRemoteToolHandler({
    bus: platform.bus,
    newest,
    defaultExchange: settings.MARKET === 'simulated' ? 'SIM' : settings.EXCHANGES?.[0],
    publicUrl,
    elapsed: () => performance.now(),
    sleep,
    report: (error) => log.warn({ err: error }, 'no engine answered'),
  })
}
