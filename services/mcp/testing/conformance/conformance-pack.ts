import {
  createRequestStateCodec,
  type GetPromptResult,
  type ListPromptsResult,
  ProtocolError,
  type ReadResourceResult,
  type Server,
} from '@modelcontextprotocol/server'
import type { Json } from '../../../../contracts/json.ts'
import { JSON_RPC_CODES } from '../../mcp-messages.ts'
import type { McpBase, McpExtension } from '../../protocol-server.ts'
import { toolResult } from '../../tool-result.ts'
import { ASKING_TOOLS, askingPrompt } from './asking-tools.ts'
import { PLAIN_TOOLS, PNG } from './plain-tools.ts'

/** Names of the tools that answer differently in the handshake era, where a server without sessions cannot ask. */
const SESSION_TOOLS = [
  'test_sampling',
  'test_elicitation',
  'test_elicitation_sep1034_defaults',
  'test_elicitation_sep1330_enums',
]

const TOOL_NAMES = [...Object.keys(PLAIN_TOOLS), ...Object.keys(ASKING_TOOLS), ...SESSION_TOOLS]

/**
 * The tools, resources and prompts that the official conformance suite calls by name, so that it can referee
 * the same edge that serves callers. Never part of a service that anybody uses.
 *
 * @param stateKey at least 32 bytes that seal what the asking tools carry along.
 */
export function conformancePack(stateKey: Uint8Array): McpExtension {
  const state = createRequestStateCodec<{ round: number }>({ key: stateKey })
  return {
    tools: TOOL_NAMES.map((name) => ({
      name,
      description: `Named by the conformance suite: ${name}.`,
      inputSchema: { type: 'object' as const },
    })),
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true },
      completions: {},
      logging: {},
    },
    install(server, base) {
      server.setRequestHandler('tools/call', async ({ params }, context) => {
        const plain = Object.hasOwn(PLAIN_TOOLS, params.name) ? PLAIN_TOOLS[params.name] : undefined
        if (plain !== undefined) return plain(context, base.announce)
        const asking = Object.hasOwn(ASKING_TOOLS, params.name) ? ASKING_TOOLS[params.name] : undefined
        if (asking !== undefined) return asking(context, state)
        if (SESSION_TOOLS.includes(params.name)) return CANNOT_ASK
        return toolResult(await base.callTool(params.name, (params.arguments ?? {}) as Json))
      })
      installResources(server, base)
      installPrompts(server)
    },
  }
}

const CANNOT_ASK = {
  isError: true,
  content: [
    { type: 'text' as const, text: 'Nothing can be asked of a client without a session; none is kept here.' },
  ],
}

const RESOURCES: Readonly<Record<string, ReadResourceResult['contents'][number]>> = {
  'test://static-text': {
    uri: 'test://static-text',
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.',
  },
  'test://static-binary': { uri: 'test://static-binary', mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { uri: 'test://watched-resource', mimeType: 'text/plain', text: 'Watched.' },
}

function installResources(server: Server, base: McpBase): void {
  server.setRequestHandler('resources/list', () => {
    const named = Object.values(RESOURCES).map(({ uri, mimeType }) => ({
      uri,
      mimeType,
      name: uri,
      description: 'Named by the conformance suite.',
    }))
    return { resources: [...base.listResources().resources, ...named] }
  })
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' },
    ],
  }))
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const named = Object.hasOwn(RESOURCES, uri) ? RESOURCES[uri] : undefined
    if (named !== undefined) return { contents: [named] }
    const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? []
    if (id === undefined) return base.readResource(uri)
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
    return { contents: [{ uri, mimeType: 'application/json', text }] }
  })
  server.setRequestHandler('resources/subscribe', () => ({}))
  server.setRequestHandler('resources/unsubscribe', () => ({}))
  server.setRequestHandler('completion/complete', () => ({ completion: { values: [], hasMore: false } }))
}

const said = (text: string): GetPromptResult['messages'][number] => ({
  role: 'user',
  content: { type: 'text', text },
})

const required = (name: string) => ({ name, required: true, description: 'An argument of the test.' })

/** Prompts by name: what they take, and what they say. */
const PROMPTS: Readonly<
  Record<
    string,
    {
      readonly arguments: NonNullable<ListPromptsResult['prompts'][number]['arguments']>
      readonly messages: (given: Readonly<Record<string, string>>) => GetPromptResult['messages']
    }
  >
> = {
  test_simple_prompt: { arguments: [], messages: () => [said('This is a simple prompt for testing.')] },
  test_prompt_with_arguments: {
    arguments: [required('arg1'), required('arg2')],
    messages: ({ arg1, arg2 }) => [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  },
  test_prompt_with_embedded_resource: {
    arguments: [required('resourceUri')],
    messages: ({ resourceUri: uri = '' }) => [
      {
        role: 'user',
        content: {
          type: 'resource',
          resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
        },
      },
      said('Please process the embedded resource above.'),
    ],
  },
  test_prompt_with_image: {
    arguments: [],
    messages: () => [
      { role: 'user', content: { type: 'image', data: PNG, mimeType: 'image/png' } },
      said('Please analyze the image above.'),
    ],
  },
}
const ASKING_PROMPT = 'test_input_required_result_prompt'

function installPrompts(server: Server): void {
  const prompts = [...Object.entries(PROMPTS), [ASKING_PROMPT, { arguments: [] }] as const].map(
    ([name, prompt]) => ({
      name,
      description: `Named by the conformance suite: ${name}.`,
      arguments: [...prompt.arguments],
    }),
  )
  server.setRequestHandler('prompts/list', () => ({ prompts }))
  server.setRequestHandler('prompts/get', async ({ params }, context) => {
    if (params.name === ASKING_PROMPT) return askingPrompt(context)
    const prompt = Object.hasOwn(PROMPTS, params.name) ? PROMPTS[params.name] : undefined
    if (prompt === undefined) {
      throw new ProtocolError(JSON_RPC_CODES.invalidParams, 'Invalid params: there is no prompt of this name')
    }
    return { messages: prompt.messages(params.arguments ?? {}) }
  })
}
