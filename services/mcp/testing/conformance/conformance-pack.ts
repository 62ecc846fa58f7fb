import { PassThrough, Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { Json, JsonObject } from '../../../../contracts/infra/json.ts'
import { createWaits } from '../../../http/request-signal.ts'
import { isJsonObject, RpcFault, readMessage, rpcErrorText, rpcResultText } from '../../jsonrpc.ts'
import { type RpcRequest, readRequest } from '../../protocol.ts'
import { askingPrompt, CONFORMANCE_TOOLS, PNG } from './conformance-tools.ts'

/**
 * The tools, resources and prompts that the official conformance suite calls by name, so that it can referee
 * the same edge that serves callers. Never part of a service that anybody uses.
 *
 * @param stateKey signs what the asking tools carry along
 */
export function useConformancePack(app: FastifyInstance, stateKey: Uint8Array): void {
  const listeners = new Set<(list: string) => void>()
  const untilGone = createWaits(app)
  app.addHook('preHandler', async (request, reply) => {
    const rpc = requestIn(request.headers, request.body)
    if (rpc === undefined) return undefined
    try {
      const result = answer(rpc, { stateKey, listeners, signal: () => untilGone(reply) })
      if (result === undefined) return undefined
      if (result instanceof Readable) return reply.type('text/event-stream').send(result)
      const ended = rpc.era === 'modern' ? { resultType: 'complete', ...result } : result
      return reply.type('application/json').send(rpcResultText(rpc.id, JSON.stringify(ended)))
    } catch (error) {
      if (error instanceof RpcFault) return reply.code(error.status).send(rpcErrorText(rpc.id, error.error))
      throw error
    }
  })
  app.addHook('onSend', async (_request, _reply, payload) =>
    typeof payload === 'string' ? withPack(payload) : payload,
  )
}

/** Undefined for a message that the edge refuses or that nothing comes of. */
function requestIn(headers: Parameters<typeof readRequest>[0], body: unknown): RpcRequest | undefined {
  const message = Buffer.isBuffer(body) ? readMessage(body) : undefined
  if (message === undefined || message instanceof RpcFault) return undefined
  try {
    return readRequest(headers, message)
  } catch {
    return undefined
  }
}

const TOOLS = Array.from(CONFORMANCE_TOOLS.keys(), (name) => ({
  name,
  description: `Named by the conformance suite: ${name}.`,
  inputSchema: { type: 'object' as const },
}))
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true },
  completions: {},
  logging: {},
}

/** An answer of the edge, with the tools and the capabilities of the pack. */
function withPack(payload: string): string {
  const { result, ...rest } = JSON.parse(payload) as JsonObject
  if (!isJsonObject(result)) return payload
  const { tools, capabilities } = result
  const more = {
    ...(Array.isArray(tools) && { tools: [...tools, ...TOOLS] }),
    ...(isJsonObject(capabilities) && { capabilities: { ...capabilities, ...CAPABILITIES } }),
  }
  return JSON.stringify({ ...rest, result: { ...result, ...more } })
}

function answer(
  request: RpcRequest,
  {
    stateKey,
    listeners,
    signal,
  }: { stateKey: Uint8Array; listeners: Set<(list: string) => void>; signal: () => AbortSignal },
): JsonObject | Readable | undefined {
  const { era, method, params } = request
  if (method === 'subscriptions/listen' && era === 'modern') return listen(request, listeners, signal())
  const tool = method === 'tools/call' ? CONFORMANCE_TOOLS.get(textIn(params.name)) : undefined
  if (tool === undefined) return METHODS[era][method]?.(request)
  const sent: string[] = []
  const result = tool(request, {
    stateKey,
    notify: (name, more) => sent.push(eventOf(name, more)),
    announce(list) {
      for (const listener of listeners) listener(list)
    },
  })
  if (sent.length === 0) return result
  const ended = era === 'modern' ? { resultType: 'complete', ...result } : result
  const last = `event: message\ndata: ${rpcResultText(request.id, JSON.stringify(ended))}\n\n`
  return Readable.from([...sent, last])
}

const eventOf = (method: string, params: JsonObject): string =>
  `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`

/** A stream of changed lists, which begins with the lists that are followed. */
function listen(
  { id, params }: RpcRequest,
  listeners: Set<(list: string) => void>,
  signal: AbortSignal,
): Readable {
  const stream = new PassThrough()
  const { toolsListChanged, promptsListChanged }: JsonObject = isJsonObject(params.notifications)
    ? params.notifications
    : {}
  const stamp = { _meta: { 'io.modelcontextprotocol/subscriptionId': id } }
  const notifications = {
    ...(toolsListChanged === true && { toolsListChanged }),
    ...(promptsListChanged === true && { promptsListChanged }),
  }
  stream.write(eventOf('notifications/subscriptions/acknowledged', { notifications, ...stamp }))
  const listener = (list: string): void => {
    if (`${list}ListChanged` in notifications)
      stream.write(eventOf(`notifications/${list}/list_changed`, stamp))
  }
  listeners.add(listener)
  signal.addEventListener('abort', () => {
    listeners.delete(listener)
    stream.end()
  })
  return stream
}

const RESOURCES: Readonly<Record<string, JsonObject>> = {
  'test://static-text': {
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.',
  },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched.' },
}

const textIn = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

const says = (text: string): JsonObject => ({ role: 'user', content: { type: 'text', text } })
const shows = (content: JsonObject): JsonObject => ({ role: 'user', content })

/** Prompts by name: what they take, and what they say. */
const PROMPTS: Readonly<Record<string, readonly [string[], (given: JsonObject) => JsonObject[]]>> = {
  test_simple_prompt: [[], () => [says('This is a simple prompt for testing.')]],
  test_prompt_with_arguments: [
    ['arg1', 'arg2'],
    ({ arg1, arg2 }) => [says(`Prompt with arguments: arg1='${textIn(arg1)}', arg2='${textIn(arg2)}'`)],
  ],
  test_prompt_with_embedded_resource: [
    ['resourceUri'],
    ({ resourceUri: uri = '' }) => [
      shows({
        type: 'resource',
        resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
      }),
      says('Please process the embedded resource above.'),
    ],
  ],
  test_prompt_with_image: [
    [],
    () => [
      shows({ type: 'image', data: PNG, mimeType: 'image/png' }),
      says('Please analyze the image above.'),
    ],
  ],
}
const ASKING_PROMPT = 'test_input_required_result_prompt'

type Methods = Readonly<Record<string, (request: RpcRequest) => JsonObject | undefined>>

const CACHED = { ttlMs: 0, cacheScope: 'private' }

const SHARED: Methods = {
  'resources/list': () => ({
    resources: Object.entries(RESOURCES).map(([uri, { mimeType }]) => ({
      uri,
      mimeType: mimeType as Json,
      name: uri,
      description: 'Named by the conformance suite.',
    })),
    ...CACHED,
  }),
  'resources/templates/list': () => ({
    resourceTemplates: [
      { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' },
    ],
    ...CACHED,
  }),
  'resources/read'({ params }) {
    const uri = textIn(params.uri)
    const named = RESOURCES[uri]
    if (named !== undefined) return { contents: [{ uri, ...named }], ...CACHED }
    const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? []
    if (id === undefined) return undefined
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
    return { contents: [{ uri, mimeType: 'application/json', text }], ...CACHED }
  },
  'completion/complete': () => ({ completion: { values: [], hasMore: false } }),
  'prompts/list': () => ({
    prompts: [...Object.entries(PROMPTS), [ASKING_PROMPT, [[]]] as const].map(([name, [taken]]) => ({
      name,
      description: `Named by the conformance suite: ${name}.`,
      arguments: taken.map((one: string) => ({
        name: one,
        required: true,
        description: 'An argument of the test.',
      })),
    })),
    ...CACHED,
  }),
  'prompts/get'(request) {
    const { name, arguments: given } = request.params
    if (name === ASKING_PROMPT) return askingPrompt(request)
    const [, messages] = PROMPTS[textIn(name)] ?? []
    if (messages !== undefined) return { messages: messages(isJsonObject(given) ? given : {}) }
    throw new RpcFault('invalidParams', 'Invalid params: there is no prompt of this name')
  },
}
const METHODS: Readonly<Record<RpcRequest['era'], Methods>> = {
  modern: SHARED,
  legacy: {
    ...SHARED,
    'resources/subscribe': () => ({}),
    'resources/unsubscribe': () => ({}),
    'logging/setLevel': () => ({}),
  },
}
