import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createSecureServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { startWireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import {
  TEST_CERTIFICATE,
  TEST_CERTIFICATE_KEY,
} from '../../webhooks/sending/testing/test-certificate.fixture.ts'
import { anEvent } from '../event-store.contract.ts'
import { createConnection } from './connect.ts'
import { openEventStoreDbStore } from './eventstoredb-store.ts'

const SECRET = 'hush-hush'

test.each([
  `esdb://admin:${SECRET}@`,
  `esdb://admin:${SECRET}@host:port`,
  `nonsense://admin:${SECRET}@host`,
  `esdb://admin:${SECRET}%zz@host`,
  `esdb://admin:${SECRET}@host?throwOnAppendFailure=false`,
  `esdb://admin:${SECRET}@host?nodePreference=nobody`,
  `esdb://admin:${SECRET}@host?tlsVerifyCert=false`,
  `esdb://admin:${SECRET}@host?tls_ca_file=/nowhere/ca.crt`,
  `esdb+discover://admin:${SECRET}@a,b`,
  `kurrentdb+discover://admin:${SECRET}@a,b`,
])('%s is refused without being quoted', (connectionString) => {
  let error: unknown
  try {
    createConnection(connectionString)
  } catch (caught) {
    error = caught
  }
  if (!(error instanceof ServiceError)) throw new Error('expected a ServiceError', { cause: error })
  expect(error.code).toBe('config_invalid')
  expect(error.cause).toBeUndefined()
  expect(`${error.message} ${error.stack}`).not.toContain(SECRET)
})

test.each(['*', 'esdb:*', 'app,esdb:command*'])('DEBUG=%s, which prints passwords, is refused', (DEBUG) => {
  const refused = expect.objectContaining({
    code: 'config_invalid',
    message: expect.stringContaining('prints passwords') as string,
  })
  expect(() => createConnection(`esdb://admin:${SECRET}@host`, { DEBUG })).toThrow(refused)
  createConnection(`esdb://admin:${SECRET}@host`, { DEBUG: 'express' })
})

test('TLS without a user is refused, a plain server asks for none', () => {
  expect(() => createConnection('esdb://host')).toThrow('names no user')
  createConnection('esdb://host?tls=false')
})

test.each([
  ['tlsCaFile=/nowhere/ca.crt', 'the tlsCaFile /nowhere/ca.crt, which cannot be read'],
  ['tlsVerifyCert=false', 'tlsCaFile'],
])('%s is refused with what to do', (parameter, advice) => {
  expect(() => createConnection(`esdb://admin:x@host?${parameter}`)).toThrow(advice)
})

test('a node is reached over TLS by its address, which its certificate must name', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'node-ca-'))
  const authority = join(folder, 'ca.crt')
  writeFileSync(authority, TEST_CERTIFICATE)
  let calls = 0
  const node = createSecureServer({ cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY })
  node.on('stream', (stream: ServerHttp2Stream) => {
    calls += 1
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' },
      { endStream: true },
    )
  })
  await new Promise<void>((resolve) => node.listen(0, '0.0.0.0', resolve))
  const { port } = node.address() as AddressInfo
  const read = async (host: string): Promise<unknown> => {
    const url = `esdb://admin:x@${host}:${port}?tls=true&tlsCaFile=${authority}`
    const { client } = createConnection(url).current()
    return Array.fromAsync(client.readAll({ maxCount: 1 })).catch((error: unknown) => String(error))
  }
  expect(await read('127.0.0.2')).toMatch(/127\.0\.0\.2/)
  expect(calls).toBe(0)
  await read('127.0.0.1')
  expect(calls).toBeGreaterThan(0)
  node.close()
  rmSync(folder, { recursive: true })
})

test.each(['kurrentdb', 'kurrent', 'kdb'])(
  '%s: names the same servers with the same options',
  async (scheme) => {
    const double = await startWireDouble()
    const store = openEventStoreDbStore({
      connectionString: double.connectionString.replace('esdb:', `${scheme}:`),
    })
    await store.append('s', [anEvent()], { expected: 'no-stream' })
    expect(double.log.events).toHaveLength(1)
    await store.close()
    double.stop()
    expect(() => createConnection(`${scheme}://host?tlsVerifyCert=false`)).toThrow('tlsCaFile')
  },
)

test.each([
  'esdb://a:2113,b:2113,c:2113?tls=false',
  'esdb+discover://name:2113?tls=false',
  'kurrentdb+discover://name:2113?tls=false',
])('%s is a cluster, whose leader nobody has to find for the process to go on', async (connectionString) => {
  const unreachable = connectionString.replaceAll(/[a-c]:2113|name:2113/g, '127.0.0.1:1')
  const { client } = createConnection(`${unreachable}&maxDiscoverAttempts=2&discoveryInterval=1`).current()
  const reading = async () => {
    for await (const { event } of client.readAll({ maxCount: 1 })) return event
    return undefined
  }
  // Rejections that nobody catches end the test run.
  for (let n = 0; n < 3; n++) await expect(reading()).rejects.toThrow('Failed to discover')
})

test('a server that does not answer is given up: the next call is made to the one that does', async () => {
  const silent = await startWireDouble()
  const answering = await startWireDouble()
  const hosts = `127.0.0.1:${silent.port},127.0.0.1:${silent.port}`
  const store = openEventStoreDbStore({ connectionString: `esdb://${hosts}?tls=false`, answerTimeoutMs: 300 })
  const event = anEvent()
  expect((await store.append('s', [event], { expected: 'no-stream' })).revision).toBe(0)
  silent.faults.freeze()
  silent.leadsTo(answering.port)
  await expect(store.head()).rejects.toMatchObject({ code: 'store_unavailable' })
  expect(await store.append('s', [anEvent()], { expected: 'no-stream' })).toMatchObject({ revision: 0 })
  expect(answering.log.events).toHaveLength(1)
  await store.close()
  silent.stop()
  answering.stop()
})
