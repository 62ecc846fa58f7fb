import { createHmac } from 'node:crypto'
import type { Json, JsonObject } from '../../../../contracts/infra/json.ts'
import { isJsonObject, RpcFault } from '../../jsonrpc.ts'
import { CLIENT_CAPABILITIES_META_KEY, type RpcRequest } from '../../protocol.ts'

/** A red pixel. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
/** A sound of no length. */
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='

/** Effects of a tool beside its answer. */
interface Context {
  /** Sends a notification ahead of the answer. */
  readonly notify: (method: string, params: JsonObject) => void
  /** Reports a changed list to open subscriptions. */
  readonly announce: (list: 'tools' | 'prompts') => void
  /** Signs what a tool carries along. */
  readonly stateKey: Uint8Array
}

export type ConformanceTool = (request: RpcRequest, context: Context) => JsonObject

const text = (words: string): JsonObject => ({ type: 'text', text: words })
const image: JsonObject = { type: 'image', data: PNG, mimeType: 'image/png' }
const embedded = (uri: string, mimeType: string, words: string): JsonObject => ({
  type: 'resource',
  resource: { uri, mimeType, text: words },
})
const done = (...content: JsonObject[]): JsonObject => ({ content })

const membersOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {})
const capabilitiesOf = (request: RpcRequest): JsonObject =>
  membersOf(request.meta[CLIENT_CAPABILITIES_META_KEY])

/** A client of the stateless revision asks for a log by its level; one of the handshake era gets everything. */
function log(request: RpcRequest, { notify }: Context, words: string): void {
  const isAsked = request.era === 'legacy' || 'io.modelcontextprotocol/logLevel' in request.meta
  if (isAsked) notify('notifications/message', { level: 'info', data: words })
}

/** Tools that the conformance suite names and that need nothing of the caller but the call. */
const PLAIN_TOOLS: Readonly<Record<string, ConformanceTool>> = {
  test_simple_text: () => done(text('This is a simple text response for testing.')),
  test_image_content: () => done(image),
  test_audio_content: () => done({ type: 'audio', data: WAV, mimeType: 'audio/wav' }),
  test_embedded_resource: () =>
    done(embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')),
  test_multiple_content_types: () =>
    done(
      text('Multiple content types test:'),
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ),
  test_error_handling: () => ({
    isError: true,
    ...done(text('This tool intentionally returns an error for testing')),
  }),
  test_tool_with_logging(request, context) {
    for (const words of ['Tool execution started', 'Tool processing data', 'Tool execution completed'])
      log(request, context, words)
    return done(text('Three messages were logged.'))
  },
  test_logging_tool(request, context) {
    log(request, context, 'Only for those who asked for a log level.')
    return done(text('Logged if it was asked for.'))
  },
  test_tool_with_progress(request, { notify }) {
    const { progressToken } = request.meta
    for (const progress of [0, 50, 100])
      if (progressToken !== undefined)
        notify('notifications/progress', { progressToken, progress, total: 100 })
    return done(text('Done in three steps.'))
  },
  test_missing_capability(request) {
    if (capabilitiesOf(request).sampling === undefined) {
      const data = { requiredCapabilities: { sampling: {} } }
      throw new RpcFault('missingCapability', 'Sampling is required', { data, status: 400 })
    }
    return done(text('The client samples.'))
  },
  test_trigger_tool_change(_, { announce }) {
    announce('tools')
    return done(text('Announced.'))
  },
  test_trigger_prompt_change(_, { announce }) {
    announce('prompts')
    return done(text('Announced.'))
  },
}

const form = (message: string, field: string, type: 'string' | 'boolean'): JsonObject => ({
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { [field]: { type } }, required: [field] },
  },
})
const question = (words: string, maxTokens: number): JsonObject => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: text(words) }], maxTokens },
})
const roots: JsonObject = { method: 'roots/list', params: {} }

const asks = (inputRequests: JsonObject, requestState?: string): JsonObject => ({
  resultType: 'input_required',
  inputRequests,
  ...(requestState !== undefined && { requestState }),
})

/** The answer of the client to a question; undefined if it has none of the forms that answers have. */
function answerTo({ params }: RpcRequest, key: string): JsonObject | undefined {
  const answer = membersOf(membersOf(params.inputResponses)[key])
  const isAnswer = 'action' in answer || Array.isArray(answer.roots) || 'role' in answer
  return isAnswer ? answer : undefined
}

const accepted = (request: RpcRequest, key: string): JsonObject => membersOf(answerTo(request, key)?.content)

const hasAll = (request: RpcRequest, asked: JsonObject): boolean =>
  Object.keys(asked).every((key) => answerTo(request, key) !== undefined)

const asksFor =
  (asked: JsonObject): ConformanceTool =>
  (request) =>
    hasAll(request, asked) ? done(text(JSON.stringify(request.params.inputResponses))) : asks(asked)

/** The same with a signed state, which must come back unchanged. */
const asksWithState =
  (asked: JsonObject, answered: string): ConformanceTool =>
  (request, { stateKey }) =>
    readState(request, stateKey) > 0 && hasAll(request, asked)
      ? done(text(answered))
      : asks(asked, signed(1, stateKey))

const signed = (round: number, key: Uint8Array): string =>
  `${round}.${createHmac('sha256', key).update(String(round)).digest('hex')}`

/** The round that a state belongs to; 0 if the request has none. */
function readState({ params: { requestState: state } }: RpcRequest, key: Uint8Array): number {
  if (state === undefined) return 0
  const round = typeof state === 'string' ? Number.parseInt(state, 10) : 0
  if (state === signed(round, key)) return round
  throw new RpcFault('invalidParams', 'Invalid params: the request state was changed')
}

const NAME_REQUEST = { user_name: form('What is your name?', 'name', 'string') }
const CONFIRM_REQUEST = { confirm: form('Please confirm', 'ok', 'boolean') }

/** Tools of the stateless revision that answer with a question first. */
const ASKING_TOOLS: Readonly<Record<string, ConformanceTool>> = {
  test_input_required_result_elicitation(request) {
    const { name } = accepted(request, 'user_name')
    return typeof name === 'string' ? done(text(`Hello, ${name}!`)) : asks(NAME_REQUEST)
  },
  test_streaming_elicitation: asksFor(CONFIRM_REQUEST),
  test_input_required_result_sampling: asksFor({
    capital_question: question('What is the capital of France?', 100),
  }),
  test_input_required_result_list_roots: asksFor({ client_roots: roots }),
  test_input_required_result_request_state: asksWithState(CONFIRM_REQUEST, 'state-ok'),
  test_input_required_result_tampered_state: asksWithState(CONFIRM_REQUEST, 'state-ok'),
  test_input_required_result_multiple_inputs: asksWithState(
    { ...NAME_REQUEST, greeting: question('Generate a greeting', 50), client_roots: roots },
    'Everything was answered.',
  ),
  test_input_required_result_multi_round(request, { stateKey }) {
    const round = readState(request, stateKey)
    if (round === 2) return done(text('Both steps are done.'))
    const asked =
      round === 1
        ? { step2: form('Step 2: What is your favorite color?', 'color', 'string') }
        : { step1: form('Step 1: What is your name?', 'name', 'string') }
    return asks(asked, signed(round + 1, stateKey))
  },
  test_input_required_result_capabilities(request) {
    const { sampling, elicitation } = capabilitiesOf(request)
    return asks({
      ...(sampling !== undefined && { greeting: question('Generate a greeting', 50) }),
      ...(elicitation !== undefined && NAME_REQUEST),
    })
  },
}

export const CONFORMANCE_TOOLS: ReadonlyMap<string, ConformanceTool> = new Map(
  Object.entries({ ...PLAIN_TOOLS, ...ASKING_TOOLS }),
)

/** A prompt that asks for its context first. */
export function askingPrompt(request: RpcRequest): JsonObject {
  const { context } = accepted(request, 'user_context')
  if (typeof context === 'string')
    return { messages: [{ role: 'user', content: text(`In the context of ${context}.`) }] }
  return asks({ user_context: form('What context should the prompt use?', 'context', 'string') })
}
