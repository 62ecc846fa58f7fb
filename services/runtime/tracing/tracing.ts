import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { readTraceparent, traceparentOf } from './trace-context.ts'

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** A span to start, for OpenTelemetry: names have few values, and hold nothing of a caller. */
export interface SpanStart {
  readonly name: string
  readonly kind: 'server' | 'client' | 'producer' | 'consumer'
  readonly attributes?: SpanAttributes
  /** Unix milliseconds, where it began before now. */
  readonly startedAt?: number
}

/** A stretch of work that is recorded. */
export interface TraceSpan {
  /** The context to pass on, so that later spans belong to this one. */
  readonly traceparent: string
  /** @param end.error why it failed, as a code; never a message, which may hold what is a caller's. */
  end(end?: { readonly attributes?: SpanAttributes; readonly error?: string | undefined }): void
}

/**
 * Traces of what goes through this process. Context travels in what the service passes on anyway: headers, and `meta` of
 * events, so that a trace goes on over the log and in another process.
 */
export type Tracing = ReturnType<typeof createTracing>

export interface TracingOptions {
  readonly exporter: SpanExporter
  /** Share of entries that are recorded, from 0 to 1. */
  readonly ratio: number
  readonly serviceName: string
  readonly version: string
  readonly processId: string
  /** From 0 up to 1. */
  readonly random: () => number
  readonly randomBytes: (length: number) => Uint8Array
}

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const

/** A trace that nobody reads must not grow without bound, nor hold up the end of the process. */
const SPANS_KEPT = 4_096
const EXPORT_TIMEOUT_MS = 3_000

export function createTracing(options: TracingOptions) {
  const { exporter, ratio, random } = options
  const idOf = (bytes: number) => (): string => Buffer.from(options.randomBytes(bytes)).toString('hex')
  const provider = new TracerProvider({
    // What is not recorded never gets as far.
    sampler: new AlwaysOnSampler(),
    idGenerator: { generateTraceId: idOf(16), generateSpanId: idOf(8) },
    resource: resourceFromAttributes({
      'service.name': options.serviceName,
      'service.version': options.version,
      'service.instance.id': options.processId,
    }),
    spanProcessors: [
      new BatchSpanProcessor({ exporter, maxQueueSize: SPANS_KEPT, exportTimeoutMillis: EXPORT_TIMEOUT_MS }),
    ],
  })
  const tracer = provider.getTracer('signal-service', options.version)

  function begin(start: SpanStart, parent: Context): TraceSpan {
    const { name, kind, attributes, startedAt } = start
    const spanOptions = {
      kind: KINDS[kind],
      attributes: attributes as Attributes,
      ...(startedAt !== undefined && { startTime: startedAt }),
    }
    const span = tracer.startSpan(name, spanOptions, parent)
    const { traceId, spanId } = span.spanContext()
    return {
      traceparent: traceparentOf({ traceId, spanId, isSampled: true }),
      end({ attributes: more, error } = {}) {
        if (more !== undefined) span.setAttributes(more)
        if (error !== undefined)
          span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      },
    }
  }

  return {
    /**
     * A span where the service is entered. Whether it is recorded is drawn here, and not by the caller: who sends a
     * sampled context may name the trace, and cannot make the service record it. Undefined where it is not recorded.
     */
    enter: (start: SpanStart, given?: string): TraceSpan | undefined =>
      random() < ratio ? begin(start, contextOf(given)) : undefined,
    /** A span that is recorded where that of the context is, and only there. */
    follow(start: SpanStart, context: string | undefined): TraceSpan | undefined {
      // Nearly all are not recorded, which the last character says.
      if (context === undefined || !context.endsWith('1') || readTraceparent(context)?.isSampled !== true)
        return undefined
      return begin(start, contextOf(context))
    },
    /** Sends what is waiting, for a bounded time, and ends. */
    close: () => provider.shutdown(),
  }
}

function contextOf(traceparent: string | undefined): Context {
  const parent = readTraceparent(traceparent)
  if (parent === undefined) return ROOT_CONTEXT
  const { traceId, spanId } = parent
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  })
}

/** Sends spans to `/v1/traces` of a collector by OTLP over HTTP. `report` is called once for each outage. */
export function otlpExporter(options: {
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly report: (fault: Error) => void
}): SpanExporter {
  const url = `${options.endpoint.replace(/\/$/, '')}/v1/traces`
  const inner = new OTLPTraceExporter({
    url,
    headers: { ...options.headers },
    timeoutMillis: EXPORT_TIMEOUT_MS,
  })
  let isFailing = false
  return {
    export(spans, done) {
      inner.export(spans, (result) => {
        if (result.error !== undefined && !isFailing) options.report(result.error)
        isFailing = result.error !== undefined
        done(result)
      })
    },
    forceFlush: () => inner.forceFlush(),
    shutdown: () => inner.shutdown(),
  }
}
