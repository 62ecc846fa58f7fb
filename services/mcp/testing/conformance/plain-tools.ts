import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ContentBlock,
  MissingRequiredClientCapabilityError,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { sleep } from '../../../runtime/async/sleep.ts'
import type { Announcer } from '../../protocol-server.ts'

/** A red pixel. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
/** A sound of no length. */
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='
const STEP_MS = 50

/** The answer of a tool of the pack to a call. */
export type ConformanceTool = (context: ServerContext, announce: Announcer) => Promise<CallToolResult>

const text = (words: string): ContentBlock => ({ type: 'text', text: words })
const image: ContentBlock = { type: 'image', data: PNG, mimeType: 'image/png' }
const embedded = (uri: string, mimeType: string, words: string): ContentBlock => ({
  type: 'resource',
  resource: { uri, mimeType, text: words },
})

const gives =
  (...content: ContentBlock[]): ConformanceTool =>
  async () => ({ content })

/** Tools that the conformance suite names and that need nothing of the caller but the call. */
export const PLAIN_TOOLS: Readonly<Record<string, ConformanceTool>> = {
  test_simple_text: gives(text('This is a simple text response for testing.')),
  test_image_content: gives(image),
  test_audio_content: gives({ type: 'audio', data: WAV, mimeType: 'audio/wav' }),
  test_embedded_resource: gives(
    embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ),
  test_multiple_content_types: gives(
    text('Multiple content types test:'),
    image,
    embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ),
  test_error_handling: async () => ({
    isError: true,
    content: [text('This tool intentionally returns an error for testing')],
  }),
  async test_tool_with_logging({ mcpReq }) {
    for (const words of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await mcpReq.log('info', words)
      await sleep(STEP_MS, mcpReq.signal)
    }
    return { content: [text('Three messages were logged.')] }
  },
  async test_logging_tool({ mcpReq }) {
    await mcpReq.log('info', 'Only for those who asked for a log level.')
    return { content: [text('Logged where it was asked for.')] }
  },
  async test_tool_with_progress({ mcpReq }) {
    const { _meta: meta } = mcpReq
    const progressToken = meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 100 },
        })
      }
      await sleep(STEP_MS, mcpReq.signal)
    }
    return { content: [text('Done in three steps.')] }
  },
  async test_missing_capability({ mcpReq }) {
    if (capabilitiesOf(mcpReq).sampling === undefined) {
      throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } })
    }
    return { content: [text('The client samples.')] }
  },
  async test_trigger_tool_change(_, announce) {
    announce.toolsChanged()
    return { content: [text('Announced.')] }
  },
  async test_trigger_prompt_change(_, announce) {
    announce.promptsChanged()
    return { content: [text('Announced.')] }
  },
}

interface Capabilities {
  readonly sampling?: object
  readonly elicitation?: object
}

/** The capabilities of a request's client, as its envelope says. */
export const capabilitiesOf = ({ envelope }: ServerContext['mcpReq']): Capabilities =>
  // The SDK checked the envelope, though its type does not say what is in it.
  (envelope as Record<string, Capabilities> | undefined)?.[CLIENT_CAPABILITIES_META_KEY] ?? {}
