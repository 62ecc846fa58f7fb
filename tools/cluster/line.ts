import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to a server that can be cut: then nothing passes and nobody is told, as where packets are dropped. */
export interface Line {
  /** The server's address, by this way. */
  readonly url: string
  cut(): void
  heal(): void
  close(): Promise<void>
}

/** @param url of a server on one address, with its port */
export async function startLine(url: string): Promise<Line> {
  const target = new URL(url)
  const ends = new Map<Socket, Socket>()
  let isCut = false

  function joined(from: Socket, to: Socket): void {
    ends.set(from, to)
    from.on('error', () => to.destroy())
    from.on('close', () => {
      ends.delete(from)
      to.destroySoon()
    })
    if (!isCut) from.pipe(to)
  }
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    joined(near, far)
    joined(far, near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const port = String((server.address() as AddressInfo).port)
  return {
    url: url.replace(target.host, `127.0.0.1:${port}`),
    cut() {
      isCut = true
      for (const [from, to] of ends) from.unpipe(to).pause()
    },
    heal() {
      isCut = false
      for (const [from, to] of ends) from.pipe(to)
    },
    async close() {
      for (const end of ends.keys()) end.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
