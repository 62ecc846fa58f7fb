import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { Histogram, type Registry } from 'prom-client'
import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { answerFailure, refuseMalformed, useErrorRegistry } from './errors.ts'
import type { Readiness } from './readiness.ts'
import { healthRoutes } from './routes/health.ts'
import { type OperatorToolRoutesOptions, operatorToolRoutes } from './routes/operator-tools.ts'
import { type TrackRecordRoutesOptions, trackRecordRoutes } from './routes/track-record.ts'
import { type VerdictRoutesOptions, verdictRoutes } from './routes/verdicts.ts'
import { type VerifyRoutesOptions, verifyRoutes } from './routes/verify.ts'

export interface ServerOptions
  extends VerdictRoutesOptions,
    TrackRecordRoutesOptions,
    VerifyRoutesOptions,
    OperatorToolRoutesOptions {
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
    if (request.url.length > LIMITS.requestUrlCharacters) throw new ServiceError('uri_too_long')
  })
  endConnectionsOnClose(app, closing)

  app.get('/', async () => ({
    service: 'signal-service',
    version: options.version,
    market: options.market,
    notice: 'Information, not advice.',
    endpoints: {
      'GET /api/verdicts':
        'recorded verdicts as NDJSON, CSV or Parquet: exchange, coin, timeframe, call, from, to, after, as_of, limit, format',
      'GET /api/verdicts/stream':
        'the same as server-sent events, as they become visible: exchange, coin, timeframe, call, from, to, after',
      'GET /api/track-record':
        'what became of all recorded verdicts, per model version: group_by, exchange, coin, timeframe, model_version, after, limit',
      'GET /verify/:verdict_id':
        'a verdict as it was recorded, with its hash and its outcome, as JSON or as a page: format',
      'GET /livez': 'whether the process is there',
      'GET /readyz': 'the state of everything it stands on',
      'GET /metrics': 'Prometheus metrics',
    },
  }))
  await app.register(healthRoutes, options)
  await app.register(verdictRoutes, options)
  await app.register(trackRecordRoutes, options)
  await app.register(verifyRoutes, options)
  await app.register(operatorToolRoutes, options)
  return app
}

/**
 * A connection without a request in flight, kept alive behind its last answer or silent from the beginning,
 * would hold a shutdown up until its client hangs up: it is ended, and the others as soon as they have theirs.
 */
function endConnectionsOnClose(app: FastifyInstance, closing: AbortController): void {
  const idle = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    idle.add(socket)
    socket.once('close', () => idle.delete(socket))
  })
  app.server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    idle.delete(socket)
    response.once('close', () => {
      if (closing.signal.aborted) socket.destroySoon()
      else if (!socket.destroyed) idle.add(socket)
    })
  })
  app.addHook('preClose', async () => {
    closing.abort()
    for (const socket of idle) socket.destroy()
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
