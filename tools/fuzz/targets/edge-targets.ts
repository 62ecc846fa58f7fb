import type { FastifyInstance } from 'fastify'
import { TOOLS, type ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import { positionOfCursor } from '../../../services/analyst/shown-rows.ts'
import { createServer } from '../../../services/composition/server.ts'
import { parseToolRequest } from '../../../services/engine/tool-handler/tool-handler.ts'
import { normaliseAddress } from '../../../services/http/client-address.ts'
import { readPaidBody } from '../../../services/http/routes/x402.ts'
import { serverOptions } from '../../../services/http/testing/server-options.fixture.ts'
import { readChatRequest, readSearchRequest } from '../../../services/knowledge/read-request.ts'
import { readMessage } from '../../../services/mcp/jsonrpc.ts'
import { createLog } from '../../../services/runtime/logging/log.ts'
import { isTraceparent } from '../../../services/runtime/tracing/trace-context.ts'
import type { Target } from '../target.ts'

let server: Promise<FastifyInstance> | undefined
let logged = ''

/** Answers of the edge; any answer will do. */
async function answered(url: string, payload?: Buffer): Promise<void> {
  server ??= createServer(
    serverOptions({
      operatorToken: 'token-of-tests',
      replay: () => ({ chunks: none(), notes: () => ({}) }),
      answerTool: async () => ({}),
      log: createLog('error', { write: (line) => void (logged += line) }),
    }),
  )
  const app = await server
  logged = ''
  const headers = { authorization: 'Bearer token-of-tests', 'content-type': 'application/json' }
  const { statusCode } = await app.inject(
    payload === undefined ? { url } : { method: 'POST', url, headers, payload },
  )
  // Parts that were not given to this server say so.
  if (statusCode >= 500 && !logged.includes('was not given to the test'))
    throw new Error(`answered ${statusCode}: ${logged.slice(0, 300)}`)
}
async function* none(): AsyncGenerator<Buffer> {}

/** Signs that no client can put into the first line of a request. */
const asTarget = (input: Buffer): string =>
  encodeURI(input.toString('latin1')).replaceAll('%25', '%').replaceAll('#', '%23')
const textOf = (input: Buffer): string => input.toString('utf8')
const jsonOf = (input: Buffer): unknown => {
  try {
    return JSON.parse(textOf(input)) as unknown
  } catch {
    return textOf(input)
  }
}

/** Inputs of callers. */
export const EDGE_TARGETS: readonly Target[] = [
  { name: 'query', read: (input) => answered(`/api/verdicts?${asTarget(input)}`) },
  { name: 'path', read: (input) => answered(`/${asTarget(input).replace(/^\/+/, '')}`) },
  { name: 'json-body', read: (input) => answered('/operator/tools/get_trade_call', input) },
  { name: 'replay-cursor', read: (input) => positionOfCursor(textOf(input)) },
  { name: 'traceparent', read: (input) => isTraceparent(textOf(input)) },
  { name: 'forwarded-for', read: (input) => textOf(input).split(',').map(normaliseAddress) },
  { name: 'mcp-message', read: (input) => readMessage(input) },
  {
    name: 'tool-arguments',
    read(input) {
      const refusals = (Object.keys(TOOLS) as ToolName[]).map((tool) => {
        try {
          parseToolRequest(tool, jsonOf(input))
          return undefined
        } catch (error) {
          return error
        }
      })
      const refusal = refusals.find((error) => error !== undefined)
      if (refusal !== undefined) throw refusal
    },
  },
  {
    name: 'paid-body',
    read(input) {
      const type = input.toString('latin1')
      readPaidBody(['content-type', type], input).require()
    },
  },
  {
    name: 'question',
    read: (input) => [readSearchRequest(jsonOf(input)), readChatRequest(jsonOf(input), ['extractive'])],
  },
]
