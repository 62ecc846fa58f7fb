import { createHash } from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One delivery as an endpoint saw it. */
export interface Received {
  readonly deliveryId: string
  readonly sequence: number
  readonly sha256: string
  readonly verdictId: string
}

/** Endpoints on loopback that keep what they were sent, by path. */
export interface Receiver {
  readonly url: string
  readonly received: ReadonlyMap<string, readonly Received[]>
  /** Resolves once every endpoint has seen so many different deliveries. */
  whole(names: readonly string[], count: number): Promise<void>
  close(): Promise<void>
}

/** @param answer what an endpoint does with the n-th POST it gets; nothing at all leaves it hanging */
export async function startReceiver(
  answer: (name: string, n: number, response: ServerResponse) => void,
): Promise<Receiver> {
  const received = new Map<string, Received[]>()
  const different = new Map<string, Set<number>>()
  const watchers = new Set<() => void>()
  let posts = 0
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => void chunks.push(chunk))
    request.on('end', () => {
      const name = (request.url ?? '/').slice(1)
      const bytes = Buffer.concat(chunks)
      const body = JSON.parse(bytes.toString()) as { sequence: number; data: { verdict_id: string } }
      const seen = received.get(name) ?? []
      received.set(name, seen)
      seen.push({
        deliveryId: String(request.headers['x-service-delivery']),
        sequence: body.sequence,
        sha256: createHash('sha256').update(bytes).digest('hex'),
        verdictId: body.data.verdict_id,
      })
      const sequences = different.get(name) ?? new Set()
      different.set(name, sequences.add(body.sequence))
      answer(name, ++posts, response)
      for (const watcher of watchers) watcher()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    whole: (names, count) =>
      new Promise((resolve) => {
        const watch = (): void => {
          if (names.some((name) => (different.get(name)?.size ?? 0) < count)) return
          watchers.delete(watch)
          resolve()
        }
        watchers.add(watch)
        watch()
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
