import { createServer } from 'node:net'

/**
 * A process that takes POSTs as fast as it can: a few bytes of parsing, one fixed answer. Paths that begin with
 * `/dead` are never answered. Its port is the first line it writes.
 */
const ANSWER = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n')
const LENGTH = /content-length: (\d+)/i

const server = createServer({ noDelay: true }, (socket) => {
  let pending = Buffer.alloc(0)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    for (;;) {
      const headEnd = pending.indexOf('\r\n\r\n')
      if (headEnd === -1) return
      const head = pending.toString('latin1', 0, headEnd)
      const size = headEnd + 4 + Number(LENGTH.exec(head)?.[1] ?? 0)
      if (pending.length < size) return
      pending = pending.subarray(size)
      if (!head.startsWith('POST /dead')) socket.write(ANSWER)
    }
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' && address !== null ? address.port : 0}\n`)
})
