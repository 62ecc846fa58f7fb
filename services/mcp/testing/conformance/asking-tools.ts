import {
  acceptedContent,
  type CallToolResult,
  type GetPromptResult,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  ProtocolError,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { JSON_RPC_CODES } from '../../mcp-messages.ts'
import { capabilitiesOf } from './plain-tools.ts'

/** A tool that asks the client for something before it answers; `state` seals the data that it carries along. */
export type AskingTool = (
  context: ServerContext,
  state: RequestStateCodec<State>,
) => Promise<CallToolResult | InputRequiredResult>

interface State {
  readonly round: number
}

const done = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] })

const form = (message: string, field: string, type: 'string' | 'boolean'): InputRequests[string] => ({
  method: 'elicitation/create',
  params: {
    message,
    requestedSchema: {
      type: 'object',
      properties: { [field]: type === 'string' ? { type } : { type } },
      required: [field],
    },
  },
})

const question = (words: string, maxTokens: number): InputRequests[string] => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: words } }], maxTokens },
})

const roots: InputRequests[string] = { method: 'roots/list', params: {} }

const hasAll = ({ mcpReq }: ServerContext, requests: InputRequests): boolean =>
  Object.keys(requests).every((key) => inputResponse(mcpReq.inputResponses, key).kind !== 'missing')

/** A tool that asks once and is done as soon as everything was answered. */
const asksFor =
  (inputRequests: InputRequests, answered: (context: ServerContext) => string): AskingTool =>
  async (context) =>
    hasAll(context, inputRequests) ? done(answered(context)) : inputRequired({ inputRequests })

/** The same with a sealed state, which must come back unchanged. */
const asksWithState =
  (inputRequests: InputRequests, answered: string): AskingTool =>
  async (context, state) => {
    const carried = await readState(context, state)
    if (carried !== undefined && hasAll(context, inputRequests)) return done(answered)
    return inputRequired({ inputRequests, requestState: await state.mint({ round: 1 }, context) })
  }

async function readState(
  context: ServerContext,
  state: RequestStateCodec<State>,
): Promise<State | undefined> {
  const sealed = context.mcpReq.requestState<string>()
  if (sealed === undefined) return undefined
  try {
    return await state.verify(sealed, context)
  } catch {
    throw new ProtocolError(JSON_RPC_CODES.invalidParams, 'Invalid params: the request state was changed')
  }
}

const NAME_REQUEST = { user_name: form('What is your name?', 'name', 'string') }
const CONFIRM_REQUEST = { confirm: form('Please confirm', 'ok', 'boolean') }

/** Tools of the stateless revision that answer with a question first. */
export const ASKING_TOOLS: Readonly<Record<string, AskingTool>> = {
  async test_input_required_result_elicitation({ mcpReq }) {
    const name = acceptedContent(mcpReq.inputResponses, 'user_name')?.name
    return typeof name === 'string' ? done(`Hello, ${name}!`) : inputRequired({ inputRequests: NAME_REQUEST })
  },
  test_streaming_elicitation: asksFor(CONFIRM_REQUEST, () => 'Confirmed.'),
  test_input_required_result_sampling: asksFor(
    { capital_question: question('What is the capital of France?', 100) },
    ({ mcpReq }) => JSON.stringify(mcpReq.inputResponses?.capital_question),
  ),
  test_input_required_result_list_roots: asksFor({ client_roots: roots }, ({ mcpReq }) =>
    JSON.stringify(mcpReq.inputResponses?.client_roots),
  ),
  test_input_required_result_request_state: asksWithState(CONFIRM_REQUEST, 'state-ok'),
  test_input_required_result_tampered_state: asksWithState(CONFIRM_REQUEST, 'state-ok'),
  test_input_required_result_multiple_inputs: asksWithState(
    { ...NAME_REQUEST, greeting: question('Generate a greeting', 50), client_roots: roots },
    'Everything was answered.',
  ),
  async test_input_required_result_multi_round(context, state) {
    const { round = 0 } = (await readState(context, state)) ?? {}
    if (round === 2) return done('Both steps are done.')
    const inputRequests =
      round === 1
        ? { step2: form('Step 2: What is your favorite color?', 'color', 'string') }
        : { step1: form('Step 1: What is your name?', 'name', 'string') }
    return inputRequired({ inputRequests, requestState: await state.mint({ round: round + 1 }, context) })
  },
  async test_input_required_result_capabilities({ mcpReq }) {
    const { sampling, elicitation } = capabilitiesOf(mcpReq)
    return inputRequired({
      inputRequests: {
        ...(sampling !== undefined && { greeting: question('Generate a greeting', 50) }),
        ...(elicitation !== undefined && NAME_REQUEST),
      },
    })
  },
}

/** A prompt that asks for its context first. */
export async function askingPrompt({
  mcpReq,
}: ServerContext): Promise<GetPromptResult | InputRequiredResult> {
  const context = acceptedContent(mcpReq.inputResponses, 'user_context')?.context
  if (typeof context !== 'string') {
    return inputRequired({
      inputRequests: { user_context: form('What context should the prompt use?', 'context', 'string') },
    })
  }
  return { messages: [{ role: 'user', content: { type: 'text', text: `In the context of ${context}.` } }] }
}
