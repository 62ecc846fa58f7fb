import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FakeMarket } from './fake-market.ts'
import type { FakeRequest, Route, VenueFormat } from './venue-format.ts'

/** Something that goes wrong at a venue. */
export type Fault =
  | {
      readonly kind: 'status'
      readonly status: number
      readonly retryAfter?: string
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

/** Starts a venue on loopback. */
export async function startFakeVenue(format: VenueFormat, market: FakeMarket): Promise<FakeVenue> {
  const requests = new Map<Route | 'unknown', number>()
  const unknownPaths: string[] = []
  let planned: Planned[] = []

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(incoming)
    const answer = format.answer(request, market)
    const route = answer?.route ?? 'unknown'
    requests.set(route, (requests.get(route) ?? 0) + 1)
    response.setHeader('date', new Date(market.now()).toUTCString())
    response.setHeader('content-type', 'application/json')
    if (answer === undefined) {
      unknownPaths.push(request.path)
      response.writeHead(404).end('{"message":"not imitated"}')
      return
    }
    const plan = planned.find((one) => one.route === route && one.left > 0 && one.only(request))
    if (plan !== undefined) {
      plan.left -= 1
      if (await suffer(plan.fault, response, JSON.stringify(answer.body))) return
    }
    response.writeHead(answer.status ?? 200).end(JSON.stringify(answer.body))
  }

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
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
      response.writeHead(fault.status).end(fault.text ?? '{"message":"try again later"}')
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
  const url = new URL(incoming.url ?? '/', 'http://venue')
  let text = ''
  for await (const part of incoming) text += String(part)
  return {
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  }
}
