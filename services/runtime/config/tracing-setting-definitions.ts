import { defineSettings } from './setting-definition.ts'
import { decimal, httpHeaders, url } from './setting-schemas.ts'

/** The destination of traces, under OpenTelemetry's names of these settings. */
export const TRACING_SETTINGS = defineSettings({
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: url(['http:', 'https:']),
    help: 'Collector that takes traces by OTLP over HTTP; /v1/traces is added. Default: none, nothing is traced.',
    example: 'http://localhost:4318',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    schema: httpHeaders.optional(),
    help: 'Headers that the collector asks for, as name=value separated by commas; values are percent-encoded. Default: none.',
    isSecret: true,
    example: 'authorization=Bearer%20…',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    schema: decimal(/^(?:0(?:\.\d{1,6})?|1)$/).default(0.01),
    help: 'Share of requests and of closed bars that are traced, from 0 to 1; a caller cannot raise it. Default: 0.01.',
    example: '0.1',
  },
})
