import accepts from '@fastify/accepts'
import fastify, { type FastifyInstance } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { TOOLS, toolNamed } from '../../../contracts/tools/tool-catalogue.ts'
import type { CallPath, ToolCall } from '../../tool-calls/tool-call.ts'
import { type McpServerOptions, mcpServer } from '../mcp-server.ts'
import { requestGuard } from '../request-guard.ts'
import { sampleAnswer } from './sample-answers.fixture.ts'

/** Keys that mean something to the fake call path; any other is served. */
export const KEYS = {
  unknown: 'Bearer unknown',
  unverifiable: 'Bearer unverifiable',
  exhausted: 'Bearer exhausted',
  broken: 'Bearer broken',
} as const

/** A call path that keeps what it was asked, checks requests as the tools do, and refuses by the key's name. */
export function fakeCalls(): { readonly path: CallPath; readonly asked: ToolCall[] } {
  const asked: ToolCall[] = []
  const seen = new Set<string>()
  return {
    asked,
    path: {
      async call(call) {
        asked.push(call)
        refuseByKey(call.authorization)
        const tool = toolNamed(call.tool)
        const checked = TOOLS[tool].request.safeParse(call.request)
        if (!checked.success) {
          const [first] = checked.error.issues
          const field = first?.path.join('.') ?? ''
          throw new ServiceError('invalid_request', {
            message: `${field}: ${first?.message}`,
            details: { fields: [{ field, problem: first?.message ?? '' }] },
          })
        }
        const isReplay = call.idempotencyKey !== undefined && seen.has(call.idempotencyKey)
        if (call.idempotencyKey !== undefined) seen.add(call.idempotencyKey)
        return { body: sampleAnswer(tool), isReplay }
      },
    },
  }
}

function refuseByKey(authorization: string | undefined): void {
  if (authorization === KEYS.unknown) throw new ServiceError('key_unknown')
  if (authorization === KEYS.unverifiable) throw new ServiceError('key_unverifiable')
  if (authorization === KEYS.broken) throw new TypeError('a secret of the inside')
  if (authorization === KEYS.exhausted) {
    throw new ServiceError('quota_exhausted', {
      details: { limit: 200, resets_at: '2026-12-01T00:00:00.000Z' },
    })
  }
}

export const TRACK_RECORD: JsonObject = { as_of: '17', rows: [], next: null }

/** Options of an edge in front of a fake call path; give what matters to the test. */
export const mcpOptions = (change: Partial<McpServerOptions> = {}): McpServerOptions => ({
  calls: fakeCalls().path,
  checkKey: async (authorization) =>
    (({ [KEYS.unknown]: 'key_unknown', [KEYS.unverifiable]: 'key_unverifiable' }) as const)[authorization] ??
    'ok',
  guard: requestGuard({ host: '127.0.0.1', origins: ['https://page.example'] }),
  sources: {
    version: '1.2.3',
    market: 'simulated',
    exchanges: () => ['SIM'],
    publicUrl: () => 'https://signals.example',
    trackRecord: () => TRACK_RECORD,
  },
  ...change,
})

/** A server with nothing but the edge on it, not listening yet. @param prepare adds hooks in front of the edge */
export async function createMcpEdge(
  change: Partial<McpServerOptions> = {},
  prepare: (app: FastifyInstance) => void = () => undefined,
): Promise<FastifyInstance> {
  let requests = 0
  const app = fastify({ genReqId: () => `request-${++requests}`, forceCloseConnections: true })
  await app.register(accepts)
  app.setValidatorCompiler(validatorCompiler).setSerializerCompiler(serializerCompiler)
  prepare(app)
  await app.register(mcpServer, mcpOptions(change))
  return app
}

/** Listens on a free port. */
export async function listen(app: FastifyInstance): Promise<string> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return `http://127.0.0.1:${address.port}/mcp`
}

/** The answer of an app's `/mcp` to a message. */
export const messageTo = (
  app: FastifyInstance,
  method: string,
  params: JsonObject,
  headers: Record<string, string> = {},
) =>
  app.inject({
    method: 'POST',
    url: '/mcp',
    payload: { jsonrpc: '2.0', id: 1, method, params },
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
  })
