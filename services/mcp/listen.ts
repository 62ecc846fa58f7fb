import { createMcpHandler, InMemoryServerEventBus } from '@modelcontextprotocol/server'
import { ServiceError } from '../../contracts/errors.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Position } from '../../contracts/position.ts'
import type { VerdictRow } from '../../contracts/verdict-row.ts'
import type { Identify } from '../accounts/index.ts'
import { type FollowItem, type FollowOptions } from '../analyst/index.ts'
import { addressSite } from '../http/client-address.ts'
import { createStreamPlaces } from '../runtime/admission/places.ts'
import { requireVerified } from '../tool-calls/index.ts'
import { isJsonObject } from './mcp-messages.ts'
import { createProtocolServer, type McpCore } from './protocol-server.ts'
import type { Caller } from './tool-outcome.ts'
import { readWatchUri, type WatchUri } from './watch-uris.ts'

/** The source of subscriptions to verdicts. */
export interface ListenOptions {
  readonly follow: (options: Omit<FollowOptions, 'sleep'>) => AsyncGenerator<FollowItem, void, void>
  readonly identify: Identify
  /** Place of a coin in the newest ranking of its exchange before a position; undefined without one. */
  readonly rankAt: (
    coin: Pick<VerdictRow, 'exchange' | 'coin'>,
    position: Position,
  ) => Promise<number | undefined>
}

/** Fields of a notification for its row, and for the cursor to continue after. */
export const ROW_META_KEY = 'signal-service/row'
export const CURSOR_META_KEY = 'signal-service/cursor'
/** From 1 without a gap, for each address of a stream: what is missing is seen, as in deliveries of a webhook. */
export const SEQUENCE_META_KEY = 'signal-service/sequence'
/** Capabilities of a server that serves subscriptions. */
export const SUBSCRIBABLE = { resources: { subscribe: true } } as const

/** One stream of a caller. */
interface Stream {
  readonly handler: ReturnType<typeof createMcpHandler>
  readonly reader: ReadableStreamDefaultReader<Uint8Array>
  readonly watched: readonly WatchUri[]
  /** Whether the caller has an account. */
  readonly isKnown: boolean
  readonly authorization: string | undefined
  readonly signal: AbortSignal
}

/**
 * Serves `subscriptions/listen`. The SDK says what a stream looks like, this what is on it. One frame is made when one is
 * asked for, so a reader that is slow holds a page of the log and no more.
 */
export class Listening {
  readonly #core: McpCore
  readonly #options: ListenOptions
  readonly #closing = new AbortController()
  readonly #places = createStreamPlaces('subscriptions', {
    total: LIMITS.mcpSubscriptions,
    each: { address: LIMITS.mcpSubscriptionsPerAddress, account: LIMITS.mcpSubscriptionsPerAccount },
  })

  constructor(core: McpCore, options: ListenOptions) {
    this.#core = core
    this.#options = options
  }

  /**
   * @param gone aborted when nobody reads any more
   * @throws ServiceError `rate_limited`, `too_many_streams`, `invalid_request`, `key_unknown`, `key_unverifiable`
   */
  async open(message: JsonObject, request: Request, caller: Caller, gone: AbortSignal): Promise<Response> {
    if (this.#closing.signal.aborted) throw new ServiceError('shutting_down')
    const identity = requireVerified(await this.#options.identify(caller.authorization))
    const { asked, watched } = readWatched(message)
    const account = identity.outcome === 'OK' ? identity.accountId : undefined
    const { give } = this.#places.take({ address: addressSite(caller.address), account })
    gone.addEventListener('abort', give, { once: true })
    if (gone.aborted) give()
    const handler = createMcpHandler(
      () => {
        const server = createProtocolServer(this.#core, caller, NOTHING_ELSE)
        server.registerCapabilities(SUBSCRIBABLE)
        return server
      },
      { legacy: 'reject', keepAliveMs: 0, bus: new InMemoryServerEventBus() },
    )
    const response = await handler.fetch(request, { parsedBody: asked })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    if (!isStream || response.body === null || watched.length === 0) {
      gone.addEventListener('abort', () => void handler.close(), { once: true })
      if (!isStream) give()
      return response
    }
    const frames = this.#frames({
      handler,
      reader: response.body.getReader(),
      watched,
      isKnown: account !== undefined,
      authorization: caller.authorization,
      signal: AbortSignal.any([gone, this.#closing.signal]),
    })
    return new Response(ReadableStream.from<Uint8Array>(frames), { headers: response.headers })
  }

  /** Ends all streams, each with the answer to its request. */
  close(): void {
    this.#closing.abort()
  }

  async *#frames(stream: Stream): AsyncGenerator<Uint8Array, void, void> {
    const { handler, reader, isKnown, authorization, signal } = stream
    const next = async (): Promise<Uint8Array> => (await reader.read()).value ?? new Uint8Array()
    try {
      // The first message of the SDK: the subscriptions that it accepted.
      yield await next()
      for await (const item of this.#items(stream)) {
        if (signal.aborted) break
        if (isKnown && (await this.#options.identify(authorization)).outcome === 'UNKNOWN') break
        if (item === 'quiet') yield KEEP_ALIVE
        else {
          handler.bus.publish({ kind: 'resource_updated', uri: item.uri, params: paramsOf(item) })
          yield await next()
        }
      }
      // The answer to the request, which says that this was the end of it.
      if (this.#closing.signal.aborted || !signal.aborted) {
        void handler.close()
        yield await next()
      }
    } finally {
      await handler.close()
      await reader.cancel()
    }
  }

  #items({ watched, isKnown, signal }: Stream): AsyncGenerator<Told, void, void> {
    const { follow, rankAt } = this.#options
    return merged(
      watched.map((one) => {
        const { filter, after } = one
        // A caller with an account gets it at once, as by a webhook; others when it has its outcome.
        const items = follow({ filter, withOpen: isKnown, signal, ...(after !== undefined && { after }) })
        return told(one, rankAt, items)
      }),
    )
  }
}

const paramsOf = ({ uri, row, sequence }: Exclude<Told, 'quiet'>) => ({
  uri,
  _meta: { [ROW_META_KEY]: row, [CURSOR_META_KEY]: row.cursor, [SEQUENCE_META_KEY]: sequence },
})

const KEEP_ALIVE = new TextEncoder().encode(': nothing new\n\n')
const NOTHING_ELSE = { toolsChanged: () => undefined, promptsChanged: () => undefined }

/** The request with the resources served here alone, which the SDK then acknowledges. */
function readWatched(message: JsonObject): { asked: JsonObject; watched: readonly WatchUri[] } {
  const { params } = message
  const notifications = isJsonObject(params) ? params.notifications : undefined
  if (!isJsonObject(params) || !isJsonObject(notifications)) return { asked: message, watched: [] }
  const { resourceSubscriptions: uris } = notifications
  if (!Array.isArray(uris)) return { asked: message, watched: [] }
  if (uris.length > LIMITS.mcpSubscriptionUris) {
    throw new ServiceError('invalid_request', {
      message: `resourceSubscriptions: ${uris.length} are more than ${LIMITS.mcpSubscriptionUris}; name several coins in one`,
    })
  }
  const watched = [...new Set(uris)].flatMap((uri) =>
    typeof uri === 'string' ? (readWatchUri(uri) ?? []) : [],
  )
  const agreed = { ...notifications, resourceSubscriptions: watched.map(({ uri }) => uri) }
  return { asked: { ...message, params: { ...params, notifications: agreed } }, watched }
}

type Told = 'quiet' | { readonly uri: string; readonly row: VerdictRow; readonly sequence: number }

async function* told(
  { uri, admits }: WatchUri,
  rankAt: ListenOptions['rankAt'],
  items: AsyncGenerator<FollowItem, void, void>,
): AsyncGenerator<Told, void, void> {
  let sequence = 0
  for await (const item of items) {
    if (item.kind === 'quiet') {
      yield 'quiet'
      continue
    }
    const { position } = item
    const { row } = item
    if (await admits(row, () => rankAt(row, position))) yield { uri, row, sequence: ++sequence }
  }
}

/** Several followings as one: whichever has something next; it ends with the first that does. */
async function* merged(all: readonly AsyncGenerator<Told, void, void>[]): AsyncGenerator<Told, void, void> {
  const asked = new Map(all.map((one) => [one, one.next().then((result) => ({ one, result }))]))
  try {
    for (;;) {
      const { one, result } = await Promise.race(asked.values())
      if (result.done === true) return
      asked.set(
        one,
        one.next().then((next) => ({ one, result: next })),
      )
      yield result.value
    }
  } finally {
    // Nobody waits for them any more: what they end with has no one to be told.
    for (const waiting of asked.values()) waiting.catch(() => undefined)
    void Promise.allSettled(all.map((one) => one.return()))
  }
}
