import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createSecureServer, type TlsOptions } from 'node:tls'

/** One connection to the server, from its side. */
export interface ServerSide {
  readonly socket: Socket
  /** The next whole request on this connection: its head as text, and its body. */
  readonly request: () => Promise<{ readonly head: string; readonly body: Buffer }>
}

/** A server that speaks bytes, so that it can say what no HTTP server would. */
export interface HostileServer {
  readonly port: number
  /** Connections so far. */
  connections(): number
  /** Requests read so far, heads only. */
  readonly heads: readonly string[]
  close(): Promise<void>
}

/**
 * @param behave what is done with each connection, counted from 1; a server that is left by its client stays calm.
 */
export async function startHostileServer(
  behave: (side: ServerSide, count: number) => Promise<void> | void,
  { host = '127.0.0.1', port = 0, tls }: { host?: string; port?: number; tls?: TlsOptions } = {},
): Promise<HostileServer> {
  const sockets = new Set<Socket>()
  const heads: string[] = []
  const failures: unknown[] = []
  let count = 0

  function accept(socket: Socket): void {
    sockets.add(socket)
    // The client cuts connections as part of these tests.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    const requests = readRequests(socket, heads)
    const request = async () => {
      const { value } = await requests.next()
      if (value === undefined) throw new ConnectionEnded()
      return value
    }
    count += 1
    Promise.resolve(behave({ socket, request }, count)).catch((error: unknown) => {
      if (!(error instanceof ConnectionEnded)) failures.push(error)
    })
  }

  const server: Server = tls === undefined ? createServer(accept) : createSecureServer(tls, accept)
  server.on('tlsClientError', () => undefined)
  server.listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => count,
    heads,
    async close() {
      if (!server.listening) return
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
      if (failures.length > 0) throw new AggregateError(failures, 'the server did not do what it was told')
    },
  }
}

/** The client went away where a request was awaited. */
class ConnectionEnded extends Error {}

async function* readRequests(
  socket: Socket,
  heads: string[],
): AsyncGenerator<{ readonly head: string; readonly body: Buffer }, undefined> {
  let buffer = Buffer.alloc(0)
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      buffer = Buffer.concat([buffer, chunk as Buffer])
      for (;;) {
        const end = buffer.indexOf('\r\n\r\n')
        if (end < 0) break
        const head = buffer.subarray(0, end).toString('latin1')
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
        const total = end + 4 + length
        if (buffer.length < total) break
        heads.push(head)
        const body = buffer.subarray(end + 4, total)
        buffer = buffer.subarray(total)
        yield { head, body }
      }
    }
  } catch (error) {
    // A reset; whoever waits for the next request is told that there is none.
    if (!(error instanceof Error && 'code' in error)) throw error
  }
  return undefined
}
