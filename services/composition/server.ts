import { randomBytes } from 'node:crypto'
import accepts from '@fastify/accepts'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import type { Registry } from 'prom-client'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { bringsAccessToken, bringsSession } from '../accounts/index.ts'
import { requireOneReading, useJsonBodies } from '../http/bodies.ts'
import { type TrustProxy, trustedProxies } from '../http/client-address.ts'
import { answerFailure, refuseMalformed, useErrorRegistry } from '../http/errors.ts'
import { endpointsOf, useOpenApi } from '../http/openapi.ts'
import { type RateLimits, useRateLimits } from '../http/rate-limits.ts'
import { useShutdown } from '../http/request-signal.ts'
import { type AccountsPluginOptions, accountsPlugin } from '../http/routes/accounts.ts'
import { type KnowledgeRoutesOptions, knowledgePlugin } from '../http/routes/knowledge.ts'
import { type MarketPluginOptions, marketPlugin } from '../http/routes/market.ts'
import { type OperatorRoutesOptions, operatorPlugin } from '../http/routes/operator.ts'
import { webhooksPlugin } from '../http/routes/webhooks.ts'
import { type PaymentRoutesOptions, paymentsPlugin } from '../http/routes/x402.ts'
import { CALLERS_HEADERS, SECURITY_HEADERS } from '../http/send-public.ts'
import type { WebhookService } from '../http/webhook-service.ts'
import { type McpPluginOptions, mcpPlugin } from '../mcp/mcp-server.ts'
import { isPageRequest } from '../pages/api-client.ts'
import { errorPage } from '../pages/error-page.ts'
import { sendPage } from '../pages/layout.ts'
import { type PagesPluginOptions, pagesPlugin } from '../pages/routes.ts'
import { useMetrics } from './metrics/gauges.ts'

/** How long Node waits, and how often it checks; milliseconds. */
const TIMEOUTS = {
  requestTimeout: LIMITS.requestArrivalMs,
  headersTimeout: LIMITS.requestHeadersMs,
  connectionTimeout: LIMITS.connectionSilentMs,
  keepAliveTimeout: LIMITS.connectionIdleMs,
  connectionsCheckingInterval: LIMITS.connectionLookMs,
}

/** Parts that are left out are not served. */
export interface ServerOptions
  extends MarketPluginOptions,
    Pick<AccountsPluginOptions, 'usage'>,
    Pick<OperatorRoutesOptions, 'answerTool'>,
    Pick<McpPluginOptions, 'mcp' | 'since'> {
  readonly accounts?: AccountsPluginOptions['accounts']
  readonly payments?:
    | (PaymentRoutesOptions &
        NonNullable<AccountsPluginOptions['payments']> &
        NonNullable<OperatorRoutesOptions['payments']>)
    | undefined
  readonly knowledge?: (KnowledgeRoutesOptions & NonNullable<PagesPluginOptions['knowledge']>) | undefined
  readonly webhooks?: WebhookService | undefined
  readonly log: FastifyBaseLogger
  readonly metrics: Registry
  readonly newId: () => string
  readonly version: string
  /** The address under which callers reach the service; empty while it is not known. */
  readonly publicUrl?: () => string
  /** Proxies whose X-Forwarded-For is believed; none if it is left out. */
  readonly trustProxy?: TrustProxy | undefined
  readonly rateLimits?: RateLimits | undefined
  readonly timeouts?: Partial<Record<keyof typeof TIMEOUTS, number>>
}

/** The HTTP edge: it translates, and decides nothing. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { headersTimeout, connectionsCheckingInterval, ...timeouts } = { ...TIMEOUTS, ...options.timeouts }
  const app = fastify({
    ...timeouts,
    trustProxy: trustedProxies(options.trustProxy),
    loggerInstance: options.log,
    // Given at its beginning, Fastify does not load its own, which know schemas of JSON.
    schemaController: {
      compilersFactory: {
        // Schemas of headers describe them; routes read the headers themselves.
        buildValidator: () =>
          ((route: Parameters<typeof validatorCompiler>[0]) =>
            route.httpPart === 'headers' ? () => true : validatorCompiler(route)) as never,
        buildSerializer: () => serializerCompiler as never,
      },
    },
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: options.newId,
    // Log lines of a request carry its id themselves, so that a request needs no logger of its own.
    childLoggerFactory: (logger) => logger,
    bodyLimit: LIMITS.requestBodyBytes,
    routerOptions: { maxParamLength: 256, ignoreTrailingSlash: true },
    // Refused below, in the words of the registry: Node's own refusal has no body.
    http: {
      headersTimeout,
      connectionsCheckingInterval,
      maxHeaderSize: LIMITS.requestHeaderBytes,
      requireHostHeader: false,
    },
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => void answerFailure(error, request, reply),
    clientErrorHandler: refuseMalformed,
    forceCloseConnections: 'idle',
  })
  const { market, version, publicUrl = () => '', accounts, payments, knowledge, webhooks } = options
  const hasNoMail = accounts?.accounts.hasNoMail === true
  const frame = () => ({ market, version, publicUrl: publicUrl(), hasNoMail })
  const ownProof = randomBytes(32).toString('base64url')
  await app.register(accepts)
  useErrorRegistry(app, (reply, refusal) => sendPage(reply, frame(), errorPage(refusal)))
  useEdge(app, options, ownProof)

  const document = await useOpenApi(app, { version, publicUrl })
  const describe = () => ({
    service: 'signal-service',
    version,
    market,
    notice: 'Information, not advice.',
    endpoints: endpointsOf(document()),
  })
  const exchanges = () => options.mcp?.sources.exchanges() ?? []
  const all = { ...options, publicUrl, frame, ownProof, describe, exchanges }
  await app.register(marketPlugin, all)
  await app.register(accountsPlugin, all)
  if (payments !== undefined) await app.register(paymentsPlugin, { ...payments })
  if (knowledge !== undefined) await app.register(knowledgePlugin, { ...knowledge })
  if (webhooks !== undefined) await app.register(webhooksPlugin, { ...webhooks })
  await app.register(operatorPlugin, all)
  await app.register(pagesPlugin, all)
  await app.register(mcpPlugin, all)
  return app
}

const elsewhereError = (message: string): ServiceError =>
  new ServiceError('unauthorized', {
    message,
    nextStep: 'Use an API key here: keys are made on the account page or with POST /api/keys.',
  })

/** The hooks that every request passes before its route. */
function useEdge(app: FastifyInstance, { metrics, rateLimits }: ServerOptions, ownProof: string): void {
  const closing = new AbortController()
  useJsonBodies(app)
  useMetrics(app, metrics)

  // The hooks of every request call back: cheap answers feel the price of a promise for each.
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS).header('x-request-id', request.id)
    if (closing.signal.aborted) throw new ServiceError('shutting_down')
    if (request.url.length > LIMITS.requestUrlCharacters) throw new ServiceError('uri_too_long')
    requireOneReading(request)
    if (bringsAccessToken(request.headers.authorization) && request.routeOptions.url !== '/mcp') {
      throw elsewhereError('An access token is for POST /mcp and nothing else.')
    }
    if (bringsSession(request.headers.authorization) && !isPageRequest(request, ownProof)) {
      throw elsewhereError('The session of a browser is for the pages of this service and nothing else.')
    }
    done()
  })
  app.server.maxConnections = LIMITS.connections
  app.addHook('preClose', async () => closing.abort())
  useShutdown(app)
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing.signal.aborted) reply.header('connection', 'close')
    if (String(reply.getHeader('cache-control')).startsWith('public')) {
      for (const name of CALLERS_HEADERS) reply.removeHeader(name)
    }
    done()
  })
  if (rateLimits !== undefined) useRateLimits(app, rateLimits)
}
