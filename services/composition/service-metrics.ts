import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Outcome } from '../../contracts/outcome.ts'
import type { Verdict } from '../../contracts/verdict.ts'
import type { ProjectionHealth } from '../platform/projector/projector.ts'

/** What the service counts about itself, beside the process and the HTTP edge. */
export interface ServiceMetrics {
  readonly registry: Registry
  verdictsRecorded(verdicts: readonly Verdict[]): void
  outcomesLabelled(outcomes: readonly Outcome[]): void
  appendTrouble(code: string): void
}

/**
 * @param sources read at each scrape.
 */
export function createServiceMetrics(sources: {
  readonly market: string
  readonly projections: () => readonly ProjectionHealth[]
  /** Age of the newest bar in market time, milliseconds; undefined before the first. */
  readonly dataAgeMs: () => number | undefined
}): ServiceMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const recorded = new Counter({
    name: 'verdicts_recorded_total',
    help: 'Verdicts appended by this process',
    labelNames: ['exchange', 'timeframe', 'call'] as const,
    registers,
  })
  const labelled = new Counter({
    name: 'outcomes_labelled_total',
    help: 'Outcomes of verdicts appended by this process, by how the race ended',
    labelNames: ['exchange', 'timeframe', 'race'] as const,
    registers,
  })
  const trouble = new Counter({
    name: 'append_failures_total',
    help: 'Times that verdicts began to wait for the event store, by error code',
    labelNames: ['code'] as const,
    registers,
  })
  new Gauge({
    name: 'projection_live',
    help: '1 where a projection has caught up with the log and follows it, else 0',
    labelNames: ['projection', 'version'] as const,
    registers,
    collect() {
      for (const { name, version, state } of sources.projections()) {
        this.set({ projection: name, version: String(version) }, state === 'live' ? 1 : 0)
      }
    },
  })
  new Gauge({
    name: 'market_data_age_seconds',
    help: 'Age of the newest bar, in market time',
    // A label, so that there is no value before the first bar.
    labelNames: ['market'] as const,
    registers,
    collect() {
      const age = sources.dataAgeMs()
      if (age !== undefined) this.set({ market: sources.market }, age / 1_000)
    },
  })
  return {
    registry,
    outcomesLabelled(outcomes) {
      for (const { exchange, timeframe, race } of outcomes) labelled.inc({ exchange, timeframe, race })
    },
    verdictsRecorded(verdicts) {
      for (const { exchange, timeframe, call } of verdicts) recorded.inc({ exchange, timeframe, call })
    },
    appendTrouble: (code) => trouble.inc({ code }),
  }
}
