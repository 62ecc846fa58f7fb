import type { FastifyPluginAsync } from 'fastify'
import type { WebhookService } from '../http/webhook-acts.ts'
import type { KnowledgeService } from '../tool-calls/index.ts'
import { type HistoryTools, historyTools, knowledgeTools } from './free-tools.ts'
import { type McpRoutesOptions, mcpRoutes } from './mcp-routes.ts'
import { createProtocol, type McpCore } from './protocol.ts'
import { type McpResourceSources, mcpResources } from './resources.ts'
import { listedTools } from './tool-list.ts'
import { webhookTools } from './webhook-tools.ts'

/** The tools of a part that is left out are not listed. */
export interface McpServerOptions extends Omit<McpRoutesOptions, 'free' | 'protocol'> {
  readonly knowledge?: KnowledgeService | undefined
  readonly history?: HistoryTools | undefined
  readonly webhooks?: WebhookService | undefined
  readonly sources: McpResourceSources
  readonly payment?: McpCore['payment']
}

/** Puts the edge of MCP together: its route, its protocol, and the tools beside those about markets. */
export const mcpServer: FastifyPluginAsync<McpServerOptions> = async (app, options) => {
  const { paid, checkKey, knowledge, history, webhooks, sources, extension, payment } = options
  const free = new Map([
    ...(knowledge === undefined ? [] : knowledgeTools(knowledge)),
    ...(history === undefined ? [] : historyTools(history, checkKey, sources.exchanges)),
    ...(webhooks === undefined ? [] : webhookTools(webhooks)),
  ])
  const tools = listedTools(free)
  const names = tools.map(({ name }) => name)
  const protocol = createProtocol({
    version: sources.version,
    isPaid: paid !== undefined,
    tools,
    resources: mcpResources(sources, names),
    extension,
    payment,
  })
  await app.register(mcpRoutes, { ...options, free, protocol })
}
