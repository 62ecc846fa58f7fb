import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createSecureContext, getCACertificates, setDefaultCACertificates, TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import {
  TEST_CERTIFICATE,
  TEST_CERTIFICATE_KEY,
} from '../../webhooks/sending/testing/test-certificate.fixture.ts'
import { openNatsLink } from './nats-connection.ts'

const INFO = { server_id: 'x', version: '2.10.0', proto: 1, max_payload: 1_048_576, tls_required: true }

test('a server is reached over TLS by its address, which its certificate must name', async () => {
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, TEST_CERTIFICATE])
  const secureContext = createSecureContext({ cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY })
  const server = createServer((socket) => {
    socket.write(`INFO ${JSON.stringify(INFO)}\r\n`)
    const secure = new TLSSocket(socket, { isServer: true, secureContext })
    secure.on('data', (data) => {
      if (data.includes('PING')) secure.write('PONG\r\n')
    })
    secure.on('error', () => undefined)
  })
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const open = (host: string) =>
    openNatsLink({ url: `tls://${host}:${port}`, now: Date.now, random: () => 0, report: () => undefined })
  const refused = { code: 'dependency_unavailable', message: expect.stringContaining('127.0.0.2 is not in') }
  await expect(open('127.0.0.2')).rejects.toMatchObject(refused)
  const { connection } = await open('127.0.0.1')
  await connection.close()
  server.close()
  setDefaultCACertificates(trusted)
})
