import type { FastifyInstance } from 'fastify'
import { createServer, type ServerOptions } from '../../composition/server.ts'
import { mcpOptions } from '../../mcp/testing/mcp-edge.fixture.ts'
import { NO_PAYMENTS } from './no-payments.ts'
import { NO_READ_MODELS } from './no-read-models.ts'
import { serverOptions } from './server-options.fixture.ts'

/** A part with any member, so that its routes are registered; every call returns the part itself. */
const anyPart: unknown = new Proxy(() => undefined, {
  get: (_target, name) => (name === 'then' || typeof name === 'symbol' ? undefined : anyPart),
  apply: () => anyPart,
})

/** A server that has every public route, for tests of their descriptions. */
export const serverOfEveryRoute = (change: Partial<ServerOptions> = {}): Promise<FastifyInstance> =>
  createServer(
    serverOptions({
      ...NO_READ_MODELS,
      mcp: mcpOptions(),
      knowledge: {
        service: anyPart as never,
        knowledge: {
          pages: async () => [],
          page: async () => undefined,
          search: async () => ({ query: '', total: 0, results: [] }),
        },
      },
      payments: NO_PAYMENTS,
      accounts: {
        accounts: anyPart,
        quotaOf: anyPart,
        signInRequests: anyPart,
        signInTries: anyPart,
        clientDocuments: anyPart,
      } as never,
      bars: anyPart as never,
      sealed: anyPart as never,
      transparencyLog: anyPart as never,
      webhooks: anyPart as never,
      operatorToken: 'x'.repeat(16),
      ...change,
    }),
  )
