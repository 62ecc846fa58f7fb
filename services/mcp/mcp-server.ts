import type { FastifyPluginAsync } from 'fastify'
import type { WebhookService } from '../http/webhook-acts.ts'
import type { KnowledgeService } from '../tool-calls/index.ts'
import { type HistoryTools, historyTools, knowledgeTools } from './free-tools.ts'
import { LISTS_KEPT, SERVER_NAME, SERVER_TITLE } from './mcp-messages.ts'
import { type McpRoutesOptions, mcpRoutes } from './mcp-routes.ts'
import type { McpCore } from './protocol-server.ts'
import { type McpResourceSources, mcpResources } from './resources.ts'
import type { SdkExchange } from './sdk-exchange.ts'
import { listedTools } from './tool-list.ts'
import { webhookTools } from './webhook-tools.ts'

/** The tools of a part that is left out are not listed. */
export interface McpServerOptions extends Omit<McpRoutesOptions, 'free' | 'sdk' | 'toolList' | 'tail'> {
  readonly knowledge?: KnowledgeService | undefined
  readonly history?: HistoryTools | undefined
  readonly webhooks?: WebhookService | undefined
  readonly sources: McpResourceSources
  readonly payment?: McpCore['payment']
}

/**
 * Puts the edge of MCP together: its route, the tools beside those about markets, and the SDK for every message that
 * the route does not answer itself.
 */
export const mcpServer: FastifyPluginAsync<McpServerOptions> = async (app, options) => {
  const { calls, paid, checkKey, knowledge, history, webhooks, sources, extension, payment } = options
  const info = { name: SERVER_NAME, title: SERVER_TITLE, version: sources.version }
  const free = new Map([
    ...(knowledge === undefined ? [] : knowledgeTools(knowledge)),
    ...(history === undefined ? [] : historyTools(history, checkKey, sources.exchanges)),
    ...(webhooks === undefined ? [] : webhookTools(webhooks)),
  ])
  const tools = listedTools(free)
  const names = tools.map(({ name }) => name)
  const core: McpCore = {
    info,
    paths: { calls, free, paid, checkKey },
    tools,
    resources: mcpResources(sources, names),
    extension,
    payment,
  }
  const listed = JSON.stringify([...tools, ...(extension?.tools ?? [])])
  const meta = `"_meta":${JSON.stringify({ 'io.modelcontextprotocol/serverInfo': info })}`
  const tail = { legacy: '', modern: `,"resultType":"complete",${meta}` }
  const kept = `"ttlMs":${LISTS_KEPT.ttlMs},"cacheScope":"${LISTS_KEPT.cacheScope}"`
  let exchanges: Promise<SdkExchange> | undefined
  // The SDK takes 6 MB, which a service does not need whose callers all take the short way.
  const load = async () => (await import('./sdk-exchange.ts')).createSdkExchange(core, app.log)
  // A load fails where too many files are open, for one. The next message tries again.
  const forget = (error: unknown): never => {
    exchanges = undefined
    throw error
  }
  await app.register(mcpRoutes, {
    ...options,
    free,
    sdk: {
      answer: async (exchange) => (await (exchanges ??= load().catch(forget))).answer(exchange),
      close: async () => (await exchanges)?.close(),
    },
    toolList: { legacy: `{"tools":${listed}}`, modern: `{"tools":${listed},${kept}${tail.modern}}` },
    tail,
  })
}
