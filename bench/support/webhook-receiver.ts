import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import {
  TEST_CERTIFICATE,
  TEST_CERTIFICATE_KEY,
} from '../../services/webhooks/sending/testing/test-certificate.fixture.ts'
import { RECEIVER_HOSTS } from './receivers.ts'

/**
 * A process that takes POSTs as fast as it can: a few bytes of parsing, one fixed answer. Paths that begin with
 * `/dead` are never answered. Its port is the first line it writes.
 *
 * `tls` speaks TLS 1.3, with a certificate for names below `hooks.example.com`; `close` ends each connection with its
 * answer, so that all requests come over new ones.
 */
const isTls = process.argv.includes('tls')
const closes = process.argv.includes('close')
const ANSWER = Buffer.from(`HTTP/1.1 204 No Content\r\n${closes ? 'connection: close\r\n' : ''}\r\n`)
const OPTIONS = {
  noDelay: true,
  key: TEST_CERTIFICATE_KEY,
  cert: TEST_CERTIFICATE,
  minVersion: 'TLSv1.3',
} as const
const LENGTH = /content-length: (\d+)/i

const take = (socket: Socket): void => {
  let pending = Buffer.alloc(0)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: Buffer<ArrayBuffer>) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    for (;;) {
      const headEnd = pending.indexOf('\r\n\r\n')
      if (headEnd === -1) return
      const head = pending.toString('latin1', 0, headEnd)
      const size = headEnd + 4 + Number(LENGTH.exec(head)?.[1] ?? 0)
      if (pending.length < size) return
      pending = pending.subarray(size)
      if (head.startsWith('POST /dead')) continue
      if (closes) socket.end(ANSWER)
      else socket.write(ANSWER)
    }
  })
}

// One port at every host.
let port = 0
for (const host of RECEIVER_HOSTS) {
  const server = (isTls ? createTlsServer(OPTIONS, take) : createServer(OPTIONS, take)).listen(port, host)
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
}
process.stdout.write(`${port}\n`)
