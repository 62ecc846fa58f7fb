import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { Histogram, type Registry } from 'prom-client'
import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { answerFailure, refuseMalformed, useErrorRegistry } from './errors.ts'
import type { Readiness } from './readiness.ts'
import { healthRoutes } from './routes/health.ts'
import { type VerdictRoutesOptions, verdictRoutes } from './routes/verdicts.ts'

export interface ServerOptions extends VerdictRoutesOptions {
  readonly log: FastifyBaseLogger
  readonly metrics: Registry
  readonly readiness: () => Promise<Readiness>
  readonly newId: () => string
  readonly version: string
  readonly market: string
}

/** Constant on every answer. */
const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
} as const

/** The HTTP edge: it translates, and decides nothing. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const app = fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: options.newId,
    bodyLimit: LIMITS.requestBodyBytes,
    routerOptions: { maxParamLength: 256, ignoreTrailingSlash: true },
    http: { maxHeaderSize: 16_384 },
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => void answerFailure(error, request, reply),
    clientErrorHandler: refuseMalformed,
    forceCloseConnections: 'idle',
  })
  const closing = new AbortController()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  useErrorRegistry(app)
  useMetrics(app, options.metrics)

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(SECURITY_HEADERS).header('x-request-id', request.id)
    if (closing.signal.aborted) throw new ServiceError('shutting_down')
  })
  endConnectionsOnClose(app, closing)

  app.get('/', async () => ({
    service: 'signal-service',
    version: options.version,
    market: options.market,
    notice: 'Information, not advice.',
    endpoints: {
      'GET /api/verdicts':
        'recorded verdicts as NDJSON: exchange, coin, timeframe, call, from, to, after, as_of, limit',
      'GET /livez': 'whether the process is there',
      'GET /readyz': 'the state of everything it stands on',
      'GET /metrics': 'Prometheus metrics',
    },
  }))
  await app.register(healthRoutes, options)
  await app.register(verdictRoutes, options)
  return app
}

/** How often a server that closes looks for connections whose last answer has ended. */
const IDLE_SWEEP_MS = 50

/** A connection kept alive past its last answer would hold a shutdown up until its client hangs up. */
function endConnectionsOnClose(app: FastifyInstance, closing: AbortController): void {
  app.addHook('preClose', async () => {
    closing.abort()
    const sweeping = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS)
    app.server.once('close', () => clearInterval(sweeping))
  })
  app.addHook('onSend', async (_request, reply) => {
    if (closing.signal.aborted) reply.header('connection', 'close')
  })
}

function useMetrics(app: FastifyInstance, registry: Registry): void {
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request to the end of its answer',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [registry],
  })
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? '(none)'
    duration.observe(
      { method: request.method, route, status: String(reply.statusCode) },
      reply.elapsedTime / 1_000,
    )
  })
}
