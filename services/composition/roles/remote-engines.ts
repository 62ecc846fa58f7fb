import { seriesName } from '../../../contracts/domain/series.ts'
import { latestVerdicts } from '../../../projections/index.ts'
import { createRemoteToolHandler, type NewestVerdicts, recordedUniverse } from '../../engine/index.ts'
import { type Component, optionalComponent } from '../../http/routes/health.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { SharedParts } from '../shared-parts.ts'

/** The tools of a process without the engine role: engines of other processes answer them over the bus. */
export function openRemoteEngines(parts: SharedParts) {
  const { settings, platform, projector, feed, speech, log, publicUrl } = parts
  const newest: NewestVerdicts | undefined =
    // Only the process that replays a recorded market knows its time.
    projector === undefined || feed.kind === 'recorded'
      ? undefined
      : {
          verdict: (series) => projector.reader(latestVerdicts).get(seriesName(series))?.verdict,
          universe: (exchange) => recordedUniverse(platform.store, exchange),
          clock: () => feed.clock(),
          model: speech.model,
          withdrawn: (timeframe) => speech.withdrawn(timeframe, feed.clock()),
        }
  const handler = createRemoteToolHandler({
    bus: platform.bus,
    newest,
    defaultExchange: settings.MARKET === 'simulated' ? 'SIM' : settings.EXCHANGES?.[0],
    publicUrl,
    elapsed: () => performance.now(),
    sleep,
    report: (error) => log.warn({ err: error }, 'no engine answered'),
  })
  return {
    ...handler,
    health: (): Component[] => {
      const problem = handler.problem()
      const detail = 'calls are answered from the newest verdicts until the next bar closes'
      const text = problem && `no engine answered the last call: ${problem}; ${detail}`
      return [optionalComponent('engines', text, 'ok')]
    },
  }
}
