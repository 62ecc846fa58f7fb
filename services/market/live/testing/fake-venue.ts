import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FakeMarket } from './fake-market.ts'
import type { FakeRequest, Route, VenueFormat } from './venue-format.ts'
import { addressOf } from './virtual-clock.ts'

/** Something that goes wrong at a venue. */
export type Fault =
  | {
      readonly kind: 'status'
      readonly status: number
      readonly retryAfter?: string
      readonly headers?: Readonly<Record<string, string>>
      readonly text?: string
    }
  /** The connection breaks before an answer. */
  | { readonly kind: 'reset' }
  /** No answer ever comes. */
  | { readonly kind: 'silent' }
  /** The answer begins and never ends; the connection stays open. */
  | { readonly kind: 'half' }
  /** An answer that goes on and on. */
  | { readonly kind: 'endless' }
  /** Another text instead of the answer, JSON or not. */
  | { readonly kind: 'instead'; readonly text: string }
  /** The answer comes only when this promise has. */
  | { readonly kind: 'held'; readonly until: Promise<void> }

/** A venue on a port of its own, which answers in the venue's own format. */
export interface FakeVenue {
  readonly url: string
  /** Answers without a connection, as quick as a function, unless the fault planned is one of the connection. */
  readonly fetch: typeof fetch
  readonly market: FakeMarket
  /** Requests so far, by what they asked for. */
  readonly requests: Map<Route | 'unknown', number>
  /** Addresses that were asked for and are not imitated. */
  readonly unknownPaths: string[]
  /** From now on a fault befalls the requests of a route, so many times. */
  fail(route: Route, fault: Fault, times?: number, only?: (request: FakeRequest) => boolean): void
  heal(): void
  close(): Promise<void>
}

interface Planned {
  readonly route: Route
  readonly fault: Fault
  readonly only: (request: FakeRequest) => boolean
  left: number
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly fault: Fault | undefined
}

const TRY_LATER = '{"message":"try again later"}'

/** Faults that only a real connection has. */
const OF_CONNECTIONS: ReadonlySet<Fault['kind']> = new Set(['silent', 'half', 'endless'])

/** Starts a venue on loopback. */
export async function startFakeVenue(format: VenueFormat, market: FakeMarket): Promise<FakeVenue> {
  const requests = new Map<Route | 'unknown', number>()
  const unknownPaths: string[] = []
  let planned: Planned[] = []

  const faultOf = (route: Route, request: FakeRequest): Planned | undefined =>
    planned.find((one) => one.route === route && one.left > 0 && one.only(request))

  /** Counts the request and takes the fault that is planned for it. */
  function answer(request: FakeRequest, known = format(request, market)): Answer {
    const route = known?.route ?? 'unknown'
    requests.set(route, (requests.get(route) ?? 0) + 1)
    const headers = { date: new Date(market.now()).toUTCString(), 'content-type': 'application/json' }
    if (known === undefined) {
      unknownPaths.push(request.path)
      return { status: 404, headers, text: '{"message":"not imitated"}', fault: undefined }
    }
    const plan = faultOf(known.route, request)
    if (plan !== undefined) plan.left -= 1
    return { status: known.status ?? 200, headers, text: JSON.stringify(known.body), fault: plan?.fault }
  }

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, headers, text, fault } = answer(await readRequest(incoming))
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    if (fault !== undefined && (await suffer(fault, response, text))) return
    response.writeHead(status).end(text)
  }

  const fetchInMemory: typeof fetch = async (input, init) => {
    const request = requestOf(new URL(addressOf(input)), typeof init?.body === 'string' ? init.body : '')
    const known = format(request, market)
    const expected = known && faultOf(known.route, request)?.fault.kind
    if (expected !== undefined && OF_CONNECTIONS.has(expected)) return fetch(input, init)
    const { status, headers, text, fault } = answer(request, known)
    if (fault?.kind === 'reset') throw new TypeError('fetch failed', { cause: new Error('read ECONNRESET') })
    if (fault?.kind === 'held') await fault.until
    if (fault?.kind === 'instead') return new Response(fault.text, { status: 200, headers })
    if (fault?.kind !== 'status') return new Response(text, { status, headers })
    const retryAfter = fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter }
    return new Response(fault.text ?? TRY_LATER, {
      status: fault.status,
      headers: { ...headers, ...retryAfter, ...fault.headers },
    })
  }

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    fetch: fetchInMemory,
    market,
    requests,
    unknownPaths,
    fail(route, fault, times = Number.POSITIVE_INFINITY, only = () => true) {
      planned.push({ route, fault, left: times, only })
    },
    heal() {
      planned = []
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Whether the fault was the whole answer. */
async function suffer(fault: Fault, response: ServerResponse, body: string): Promise<boolean> {
  switch (fault.kind) {
    case 'status':
      if (fault.retryAfter !== undefined) response.setHeader('retry-after', fault.retryAfter)
      response.writeHead(fault.status).end(fault.text ?? TRY_LATER)
      return true
    case 'reset':
      response.socket?.resetAndDestroy()
      return true
    case 'silent':
      return true
    case 'half':
      response.writeHead(200, { 'content-length': String(body.length) })
      response.write(body.slice(0, body.length / 2))
      return true
    case 'endless':
      response.writeHead(200)
      pour(response)
      return true
    case 'instead':
      response.writeHead(200).end(fault.text)
      return true
    case 'held':
      await fault.until
      break
  }
  return false
}

function pour(response: ServerResponse): void {
  const spaces = Buffer.alloc(65_536, ' ')
  const more = (): void => {
    while (!response.destroyed && response.write(spaces));
  }
  response.on('drain', more)
  more()
}

async function readRequest(incoming: IncomingMessage): Promise<FakeRequest> {
  let text = ''
  for await (const part of incoming) text += String(part)
  return requestOf(new URL(incoming.url ?? '/', 'http://venue'), text)
}

const requestOf = (url: URL, body: string): FakeRequest => ({
  path: url.pathname,
  query: Object.fromEntries(url.searchParams),
  body: body === '' ? {} : (JSON.parse(body) as Record<string, unknown>),
})
