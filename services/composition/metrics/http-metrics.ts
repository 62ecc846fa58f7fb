import type { FastifyInstance } from 'fastify'
import { Histogram, type Registry } from 'prom-client'

/** Measures how long each answer takes, by its route. */
export function useMetrics(app: FastifyInstance, registry: Registry): void {
  const duration = new Histogram({
    // Names and buckets of OpenTelemetry's semantic conventions, which are stable for HTTP.
    name: 'http_server_request_duration_seconds',
    help: 'Time from the request to the end of its answer',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    registers: [registry],
  })
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? '(none)'
    duration.observe(
      {
        http_request_method: request.method,
        http_route: route,
        http_response_status_code: String(reply.statusCode),
      },
      reply.elapsedTime / 1_000,
    )
    done()
  })
}
