import type { FastifyInstance } from 'fastify'
import { readTraceparent, traceparentOf } from '../runtime/tracing/trace-context.ts'
import type { Tracing } from '../runtime/tracing/tracing.ts'

/**
 * A span for each request that is drawn, by the stable names of OpenTelemetry. The header that everything after it reads
 * becomes that of the span; where nothing is recorded, a caller's context goes on as one that is not.
 */
export function useTracing(app: FastifyInstance, tracing: Tracing): void {
  // The hooks of every request call back: cheap answers feel the price of a promise for each.
  app.addHook('onRequest', (request, reply, done) => {
    const header = request.headers.traceparent
    const given = readTraceparent(typeof header === 'string' ? header : undefined)
    const route = request.routeOptions.url ?? '(none)'
    const span = tracing.enter(
      {
        name: `${request.method} ${route}`,
        kind: 'server',
        attributes: {
          'http.request.method': request.method,
          'http.route': route,
          'url.scheme': request.protocol,
        },
      },
      given && traceparentOf(given),
    )
    if (span === undefined) {
      if (given !== undefined) request.headers.traceparent = traceparentOf({ ...given, isSampled: false })
      return done()
    }
    request.headers.traceparent = span.traceparent
    // Also where the caller goes before the answer is whole.
    reply.raw.once('close', () => {
      const { statusCode, writableFinished } = reply.raw
      span.end({
        attributes: { 'http.response.status_code': statusCode },
        error: statusCode >= 500 ? String(statusCode) : writableFinished ? undefined : 'cancelled',
      })
    })
    done()
  })
}
