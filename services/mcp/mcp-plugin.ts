import type { FastifyPluginAsync } from 'fastify'
import type { Registry } from 'prom-client'
import type { Accounts } from '../accounts/index.ts'
import { addressOf } from '../http/client-address.ts'
import { logCause } from '../http/errors.ts'
import { RESOURCE_METADATA_PATH } from '../http/routes/oauth.ts'
import { type PaymentRoutesOptions, toPaymentAnswer } from '../http/routes/payment-status.ts'
import type { WebhookService } from '../http/webhook-service.ts'
import type { PaidCalls } from '../tool-calls/index.ts'
import { createMcpTelemetry } from './call-tool.ts'
import { type DiscoveryOptions, discoveryRoutes } from './discovery.ts'
import { type McpServerOptions, mcpServer } from './mcp-server.ts'
import { ALL_TOOL_NAMES, scopeOfTool } from './tools.ts'

/** The parts of a server that the protocol stands on, as the routes do; those that are left out are not served. */
export interface McpPluginOptions extends Pick<DiscoveryOptions, 'version' | 'publicUrl'> {
  readonly mcp?:
    | Pick<
        McpServerOptions,
        'calls' | 'checkKey' | 'extension' | 'guard' | 'history' | 'knowledge' | 'paid' | 'sources'
      >
    | undefined
  readonly accounts?: { readonly accounts: Accounts } | undefined
  readonly payments?: (PaymentRoutesOptions & { readonly paid: PaidCalls }) | undefined
  readonly knowledge?:
    | { readonly knowledge: { readonly pages: NonNullable<DiscoveryOptions['pages']> } }
    | undefined
  readonly webhooks?: WebhookService | undefined
  readonly metrics: Registry
  /** When this process began to make its offers, Unix milliseconds. */
  readonly since?: number
}

/** The Model Context Protocol, and the documents by which agents find the service. */
export const mcpPlugin: FastifyPluginAsync<McpPluginOptions> = async (app, options) => {
  const { mcp, payments, webhooks, metrics, since = 0 } = options
  await app.register(discoveryRoutes, {
    ...options,
    since,
    paid: payments?.paid,
    pages: options.knowledge?.knowledge.pages,
    hasMcp: mcp !== undefined,
  })
  if (mcp === undefined) return
  const accounts = options.accounts?.accounts
  await app.register(mcpServer, {
    ...mcp,
    bearer: accounts && {
      identify: accounts.identify,
      scopeOf: scopeOfTool,
      metadataUrl: () => `${accounts.oauth.issuer()}${RESOURCE_METADATA_PATH}/mcp`,
    },
    payment: payments && (async (id) => toPaymentAnswer(await payments.showPayment(id))),
    webhooks,
    addressOf,
    logCause: (error, requestId) => void logCause(app.log, error, requestId),
    telemetry: createMcpTelemetry({
      registry: metrics,
      tools: new Set(ALL_TOOL_NAMES),
      monotonic: () => performance.now(),
    }),
  })
}
