import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to a server that can be cut: then nothing passes and nobody is told, as where packets are dropped. */
export interface Line {
  /** The server's address, by this way. */
  readonly url: string
  /** Cuts all of it, or what some callers have opened, by the port at which they call from; new ones are asked for, too. */
  cut(isCut?: (callerPort: number) => boolean): void
  heal(): void
  close(): Promise<void>
}

/** @param url of a server on one address, with its port */
export async function startLine(url: string): Promise<Line> {
  const target = new URL(url)
  /** Each end with the other, and the port of the caller. */
  const ends = new Map<Socket, { readonly to: Socket; readonly caller: number }>()
  let isCut = (_caller: number): boolean => false

  function joined(from: Socket, to: Socket, caller: number): void {
    ends.set(from, { to, caller })
    from.on('error', () => to.destroy())
    from.on('close', () => {
      ends.delete(from)
      to.destroySoon()
    })
  }
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    const caller = near.remotePort ?? 0
    joined(near, far, caller)
    joined(far, near, caller)
    if (isCut(caller)) return
    near.pipe(far)
    far.pipe(near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const port = String((server.address() as AddressInfo).port)
  return {
    url: url.replace(target.host, `127.0.0.1:${port}`),
    cut(which = () => true) {
      isCut = which
      for (const [from, { to, caller }] of ends) if (isCut(caller)) from.unpipe(to).pause()
    },
    heal() {
      for (const [from, { to, caller }] of ends) if (isCut(caller)) from.pipe(to)
      isCut = () => false
    },
    async close() {
      for (const end of ends.keys()) end.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
