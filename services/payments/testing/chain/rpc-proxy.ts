import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The treatment of a request on the line to the node. */
export type LineFault =
  | 'none'
  /** The connection is cut before the node hears of it. */
  | 'refuse'
  /** The node never hears of it, and nobody answers. */
  | 'hang'
  /** The node does as it is told, and its answer is lost. */
  | 'lose-answer'

/** A line to a node, or to a facilitator, that can be cut. */
export interface RpcProxy {
  readonly url: string
  /** @param only faults hit requests that hold these words; all without them */
  setFault(fault: LineFault, only?: string): void
  /** Bodies of the requests so far. */
  readonly requests: readonly string[]
  /** Resolves when so many requests with these words were hit by a fault from now on. */
  hit(times: number, words?: string): Promise<void>
  close(): Promise<void>
}

export async function startRpcProxy(target: string): Promise<RpcProxy> {
  let [fault, only]: [LineFault, string] = ['none', '']
  const requests: string[] = []
  const hanging = new Set<ServerResponse>()
  let onHit: (body: string) => void = () => undefined

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readAll(request)
    requests.push(body)
    const isHit = fault !== 'none' && body.includes(only)
    if (isHit) onHit(body)
    if (isHit && fault === 'refuse') return void response.destroy()
    if (isHit && fault === 'hang') return void hanging.add(response)
    const isLost = isHit && fault === 'lose-answer'
    const path = request.url === '/' ? '' : request.url
    const answer = await fetch(`${target}${path}`, {
      method: request.method ?? 'POST',
      headers: { 'content-type': 'application/json' },
      ...(body !== '' && { body }),
    })
    const text = await answer.text()
    if (isLost) return void response.destroy()
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  await listen(server)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    setFault(next, words = '') {
      fault = next
      only = words
      if (fault === 'hang') return
      for (const response of hanging) response.destroy()
      hanging.clear()
    },
    hit(times, words = '') {
      const { promise, resolve } = Promise.withResolvers<void>()
      let left = times
      onHit = (body) => {
        if (body.includes(words) && --left <= 0) resolve()
      }
      return promise
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function readAll(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

async function listen(server: Server): Promise<void> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
}
