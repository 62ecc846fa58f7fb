import { randomBytes } from 'node:crypto'
import type { Tracing } from '../../runtime/tracing/tracing.ts'
import type { Lifetime } from '../lifetime.ts'

/** Traces to the collector that the settings name; undefined where they name none. */
export async function openTracing(
  { settings, log, onClose }: Lifetime,
  process: { readonly version: string; readonly processId: string },
): Promise<Tracing | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers = {} } = settings
  if (endpoint === undefined) return undefined
  const { createTracing, otlpExporter } = await import('../../runtime/tracing/tracing.ts')
  const report = (fault: Error): void => log.warn({ err: fault }, 'the collector of traces takes nothing')
  const tracing = createTracing({
    exporter: otlpExporter({ endpoint, headers, report }),
    ratio: settings.OTEL_TRACES_SAMPLER_ARG,
    serviceName: 'signal-service',
    ...process,
    random: Math.random,
    randomBytes,
  })
  // What a collector does not take in time is lost, and no reason to end badly.
  onClose(() => tracing.close().catch(report))
  return tracing
}
