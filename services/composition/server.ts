import { randomBytes } from 'node:crypto'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyPluginOptions,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { type FastifyPluginAsyncZod, serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import type { Registry } from 'prom-client'
import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { bringsAccessToken, bringsSession } from '../accounts/index.ts'
import { requireOneReading, useJsonBodies } from '../http/bodies.ts'
import { addressOf, type TrustProxy, trustedProxies } from '../http/client-address.ts'
import {
  answerFailure,
  type CauseLog,
  createCauseLog,
  refuseExpectation,
  refuseMalformed,
  useErrorRegistry,
} from '../http/errors.ts'
import { type OpenApiDocument, useOpenApi } from '../http/openapi.ts'
import { type RateLimits, useRateLimits } from '../http/rate-limits.ts'
import { useShutdown } from '../http/request-signal.ts'
import { type AccountRoutesOptions, accountRoutes } from '../http/routes/accounts.ts'
import { type HealthRoutesOptions, healthRoutes } from '../http/routes/health.ts'
import { type HistoryRoutesOptions, historyRoutes } from '../http/routes/history.ts'
import { chatRoutes, type KnowledgeRoutesOptions, searchRoutes } from '../http/routes/knowledge.ts'
import {
  type BarsRoutesOptions,
  barsRoutes,
  type MarketRoutesOptions,
  marketRoutes,
} from '../http/routes/markets.ts'
import { oauthRoutes, RESOURCE_METADATA_PATH } from '../http/routes/oauth.ts'
import {
  type OperatorAccountRoutesOptions,
  type OperatorPaymentRoutesOptions,
  type OperatorToolRoutesOptions,
  type OperatorWebhookRoutesOptions,
  operatorAccountRoutes,
  operatorPaymentRoutes,
  operatorToolRoutes,
  operatorWebhookRoutes,
} from '../http/routes/operator.ts'
import { type PaymentRoutesOptions, paymentRoutes, toPaymentAnswer } from '../http/routes/payment-status.ts'
import { type SealedRoutesOptions, sealedRoutes } from '../http/routes/sealed.ts'
import { type TrackRecordRoutesOptions, trackRecordRoutes } from '../http/routes/track-record.ts'
import { type TransparencyLogRoutesOptions, transparencyLogRoutes } from '../http/routes/transparency-log.ts'
import {
  type OwnPaymentRoutesOptions,
  ownPaymentRoutes,
  type UsageRoutesOptions,
  usageRoutes,
} from '../http/routes/usage.ts'
import { type VerdictRoutesOptions, verdictRoutes } from '../http/routes/verdicts.ts'
import { webhookRoutes } from '../http/routes/webhooks.ts'
import { type PaidRoutesOptions, paidRoutes } from '../http/routes/x402.ts'
import { CALLERS_HEADERS, SECURITY_HEADERS } from '../http/send-public.ts'
import type { WebhookService } from '../http/webhook-service.ts'
import { createMcpTelemetry } from '../mcp/call-tool.ts'
import { discoveryRoutes } from '../mcp/discovery.ts'
import { type McpServerOptions, mcpServer } from '../mcp/mcp-server.ts'
import { ALL_TOOL_NAMES, scopeOfTool } from '../mcp/tools.ts'
import { createPageClient, isPageRequest } from '../pages/api-client.ts'
import { assetRoutes } from '../pages/asset-routes.ts'
import { errorPage } from '../pages/error-page.ts'
import type { PageFrame } from '../pages/layout.ts'
import { boardPages } from '../pages/pages/board.ts'
import { type DocsRoutesOptions, docsRoutes } from '../pages/pages/docs.ts'
import { type VerifyRoutesOptions, verifyRoutes } from '../pages/pages/verify.ts'
import { pages } from '../pages/routes.ts'
import { sendPage } from '../pages/send-page.ts'
import { useMetrics } from './metrics/http-metrics.ts'

/** How long Node waits, and how often it looks; milliseconds. */
const TIMEOUTS = {
  requestTimeout: LIMITS.requestArrivalMs,
  headersTimeout: LIMITS.requestHeadersMs,
  connectionTimeout: LIMITS.connectionSilentMs,
  keepAliveTimeout: LIMITS.connectionIdleMs,
  connectionsCheckingInterval: LIMITS.connectionLookMs,
}

/** Groups that are left out are not served. */
export interface ServerOptions
  extends VerdictRoutesOptions,
    TrackRecordRoutesOptions,
    VerifyRoutesOptions,
    MarketRoutesOptions,
    HistoryRoutesOptions,
    UsageRoutesOptions,
    OperatorToolRoutesOptions,
    Omit<HealthRoutesOptions, 'metrics' | 'operatorToken'> {
  readonly sealed?: SealedRoutesOptions['sealed'] | undefined
  readonly bars?: BarsRoutesOptions['bars'] | undefined
  readonly transparencyLog?: TransparencyLogRoutesOptions['transparencyLog'] | undefined
  readonly mcp?:
    | Omit<McpServerOptions, 'addressOf' | 'webhooks' | 'bearer' | 'telemetry' | 'payment'>
    | undefined
  readonly accounts?: (AccountRoutesOptions & OperatorAccountRoutesOptions) | undefined
  readonly payments?:
    | (Omit<PaidRoutesOptions, 'addressOf'> &
        PaymentRoutesOptions &
        OperatorPaymentRoutesOptions &
        Pick<OwnPaymentRoutesOptions, 'paymentAdmin'>)
    | undefined
  readonly knowledge?: (KnowledgeRoutesOptions & Omit<DocsRoutesOptions, 'frame'>) | undefined
  readonly webhooks?: (WebhookService & OperatorWebhookRoutesOptions) | undefined
  readonly log: FastifyBaseLogger
  readonly metrics: Registry
  readonly newId: () => string
  readonly version: string
  /** The address under which callers reach the service; empty while it is not known. */
  readonly publicUrl?: () => string
  /** Proxies whose X-Forwarded-For is believed; none where it is left out. */
  readonly trustProxy?: TrustProxy | undefined
  /** When this process began to make its offers, Unix milliseconds. */
  readonly since?: number
  /** Shows the MCP registry that the domain is the publisher's. */
  readonly rateLimits?: RateLimits | undefined
  readonly timeouts?: Partial<Record<keyof typeof TIMEOUTS, number>>
}

/** The parts that all routes of a server share. */
interface Edge {
  readonly publicUrl: () => string
  readonly frame: () => PageFrame
  readonly addressOf: (request: FastifyRequest) => string
  readonly logCause: CauseLog
  /** Shows that a request was made by this process. */
  readonly ownProof: string
}

/** The HTTP edge: it translates, and decides nothing. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const edge = edgeOf(options)
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
  useEdge(app, options, edge)
  await registerMarket(app, options, edge)
  await registerCallers(app, options, edge)
  return app
}

function edgeOf({ market, version, publicUrl = () => '', accounts, log }: ServerOptions): Edge {
  return {
    publicUrl,
    frame: () => ({
      market,
      version,
      publicUrl: publicUrl(),
      hasNoMail: accounts?.accounts.hasNoMail === true,
    }),
    addressOf,
    logCause: createCauseLog(log, () => performance.now()),
    ownProof: randomBytes(32).toString('base64url'),
  }
}

function useEdge(
  app: FastifyInstance,
  { metrics, rateLimits }: ServerOptions,
  { frame, logCause, ownProof }: Edge,
): void {
  const closing = new AbortController()
  useErrorRegistry(app, logCause, (reply, refusal) => sendPage(reply, frame(), errorPage(refusal)))
  useJsonBodies(app)
  useMetrics(app, metrics)

  // The hooks of every request call back: cheap answers feel the price of a promise for each.
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS).header('x-request-id', request.id)
    if (closing.signal.aborted) throw new ServiceError('shutting_down')
    if (request.url.length > LIMITS.requestUrlCharacters) throw new ServiceError('uri_too_long')
    requireOneReading(request)
    if (bringsAccessToken(request.headers.authorization) && request.routeOptions.url !== '/mcp') {
      throw new ServiceError('token_elsewhere')
    }
    if (bringsSession(request.headers.authorization) && !isPageRequest(request, ownProof)) {
      throw new ServiceError('session_elsewhere')
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
  app.server.on('checkExpectation', refuseExpectation)
  if (rateLimits !== undefined) useRateLimits(app, { limits: rateLimits, addressOf })
}

type Routes<Options extends FastifyPluginOptions> =
  | FastifyPluginAsyncZod<Options>
  | FastifyPluginAsync<Options>

async function register<Options extends FastifyPluginOptions>(
  app: FastifyInstance,
  options: Options,
  routes: readonly Routes<Options>[],
): Promise<void> {
  for (const one of routes) await app.register(one, options)
}

/** Routes of the market, of recorded verdicts and of their proofs, and the operator's for them. */
async function registerMarket(app: FastifyInstance, options: ServerOptions, edge: Edge): Promise<void> {
  const { sealed, bars, transparencyLog } = options
  const document = await useOpenApi(app, { ...options, ...edge })
  const describe = () => ({
    service: 'signal-service',
    version: options.version,
    market: options.market,
    notice: 'Information, not advice.',
    endpoints: endpointsOf(document()),
  })
  const hasSignIn = options.accounts !== undefined
  const exchanges = () => options.mcp?.sources.exchanges() ?? []
  const all = { ...options, ...edge, describe, hasSignIn, exchanges }
  await register(app, all, [
    assetRoutes,
    historyRoutes,
    boardPages,
    healthRoutes,
    marketRoutes,
    verdictRoutes,
    trackRecordRoutes,
    verifyRoutes,
  ])
  if (sealed !== undefined) await app.register(sealedRoutes, { sealed })
  if (bars !== undefined) await app.register(barsRoutes, { ...edge, bars })
  if (transparencyLog !== undefined)
    await app.register(transparencyLogRoutes, { ...options, transparencyLog })
  await register(app, all, [usageRoutes, operatorToolRoutes])
}

/** Routes of accounts, payments, the documentation, webhooks and agents, and the pages over them. */
async function registerCallers(app: FastifyInstance, options: ServerOptions, edge: Edge): Promise<void> {
  const { accounts, payments, knowledge, webhooks } = options
  const all = { ...options, ...edge }
  if (accounts !== undefined) {
    const routes = [accountRoutes, operatorAccountRoutes, oauthRoutes] as const
    await register(app, { ...all, ...accounts.accounts, ...accounts }, routes)
  }
  if (payments !== undefined) {
    await register(app, { ...all, ...payments }, [paidRoutes, paymentRoutes, operatorPaymentRoutes])
    if (accounts !== undefined)
      await app.register(ownPaymentRoutes, { ...payments, identify: accounts.accounts.identify })
  }
  if (knowledge !== undefined)
    await register(app, { ...all, ...knowledge }, [searchRoutes, chatRoutes, docsRoutes])
  if (webhooks !== undefined) {
    const routes = [webhookRoutes, operatorWebhookRoutes] as const
    await register(app, { ...all, ...webhooks }, routes)
  }
  await app.register(pages, {
    ...all,
    client: createPageClient(app, edge.addressOf, edge.ownProof),
    oauth: accounts && { ...accounts, addressOf: edge.addressOf },
    hasWebhooks: webhooks !== undefined,
  })
  await app.register(discoveryRoutes, {
    ...all,
    since: options.since ?? 0,
    paid: payments?.paid,
    pages: knowledge?.knowledge.pages,
    hasMcp: options.mcp !== undefined,
  })
  if (options.mcp !== undefined) await app.register(mcpServer, mcpOptionsOf(options.mcp, all, webhooks))
}

/** The Model Context Protocol over the parts that the routes stand on, too. */
function mcpOptionsOf(
  mcp: NonNullable<ServerOptions['mcp']>,
  { accounts: ofAccounts, payments, metrics, ...all }: ServerOptions & Edge,
  webhooks: McpServerOptions['webhooks'],
): McpServerOptions {
  const accounts = ofAccounts?.accounts
  const identify = accounts?.identify ?? (async () => ({ outcome: 'ABSENT' }) as const)
  return {
    ...mcp,
    bearer: accounts && {
      identify,
      scopeOf: scopeOfTool,
      metadataUrl: () => `${accounts.oauth.issuer()}${RESOURCE_METADATA_PATH}/mcp`,
    },
    payment: payments && (async (id) => toPaymentAnswer(await payments.showPayment(id))),
    webhooks,
    addressOf: all.addressOf,
    logCause: all.logCause,
    telemetry: createMcpTelemetry({
      registry: metrics,
      tools: new Set(ALL_TOOL_NAMES),
      monotonic: () => performance.now(),
    }),
  }
}

/** Every operation in a line: its method and path, what it does, and the parameters it takes. */
function endpointsOf({ paths }: OpenApiDocument): Readonly<Record<string, string>> {
  const lines = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary, parameters = [] }]) => {
      const names = parameters.filter(({ in: place }) => place === 'query').map(({ name }) => name)
      const takes = names.length === 0 ? '' : `: ${names.join(', ')}`
      return [`${method.toUpperCase()} ${path}`, `${summary}${takes}`] as const
    }),
  )
  return Object.fromEntries(lines)
}
