import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createEgressGuard } from './egress-guard.ts'
import { createDnsResolver, type ResolveName, resolveAsSystem } from './resolve-name.ts'

const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' }
const CODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3 } as const

/** Answers of the server for a name, by type of record: addresses as bytes, or a code. */
type Zone = Readonly<
  Record<string, { readonly [Type in 'A' | 'AAAA']?: readonly string[] | keyof typeof CODES }>
>

let server: Socket
let asked: string[]
let zone: Zone

/** A name server of the few records that are needed (RFC 1035 §4). */
function answerOf(query: Buffer): Buffer {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const question = query.subarray(12, at + 5)
  const name = labels.join('.')
  const type = TYPES[query.readUInt16BE(at + 1)] ?? 'A'
  asked.push(`${name} ${type}`)
  const known = zone[name]?.[type] ?? (zone[name] === undefined ? 'NXDOMAIN' : 'NOERROR')
  const records = typeof known === 'string' ? [] : known
  const head = Buffer.alloc(12)
  query.copy(head, 0, 0, 2)
  head.writeUInt16BE(0x8180 + (typeof known === 'string' ? CODES[known] : 0), 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(records.length, 6)
  const answers = records.map((hex) => {
    const data = Buffer.from(hex, 'hex')
    const fixed = Buffer.alloc(12)
    fixed.writeUInt16BE(0xc00c, 0)
    fixed.writeUInt16BE(type === 'A' ? 1 : 28, 2)
    fixed.writeUInt16BE(1, 4)
    fixed.writeUInt16BE(data.length, 10)
    return Buffer.concat([fixed, data])
  })
  return Buffer.concat([head, question, ...answers])
}

let resolve: ResolveName
beforeEach(async () => {
  asked = []
  zone = {}
  server = createSocket('udp4')
  server.on('message', (query, { port, address }) => server.send(answerOf(query), port, address))
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  resolve = createDnsResolver({ servers: [`127.0.0.1:${server.address().port}`] })
})
afterEach(async () => {
  server.close()
  await once(server, 'close')
})

describe('a name is asked for', () => {
  test('at the server, for both kinds of address, as it is: without the search list of this machine', async () => {
    zone = { 'example.com': { A: ['5db8d70e', '01010101'], AAAA: ['20010db8000000000000000000000001'] } }
    expect(await resolve('example.com')).toEqual([
      { address: '93.184.215.14', family: 4 },
      { address: '1.1.1.1', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ])
    expect(asked.toSorted()).toEqual(['example.com A', 'example.com AAAA'])
  })

  test('which has no address, or does not exist: there is none', async () => {
    zone = { 'empty.example.com': {} }
    expect(await resolve('empty.example.com')).toEqual([])
    expect(await resolve('nx.example.com')).toEqual([])
  })

  test('of which one kind cannot be told: the other is used', async () => {
    zone = { 'half.example.com': { A: ['01010101'], AAAA: 'SERVFAIL' } }
    expect(await resolve('half.example.com')).toEqual([{ address: '1.1.1.1', family: 4 }])
  })

  test('of which nothing can be told: that is an outage, and no refusal', async () => {
    zone = { 'broken.example.com': { A: 'SERVFAIL', AAAA: 'SERVFAIL' } }
    await expect(resolve('broken.example.com')).rejects.toMatchObject({ code: 'ESERVFAIL' })
  })

  test('whose answer changes between two looks: the guard sees the second too', async () => {
    const guard = createEgressGuard({ allowPrivate: false, ownHosts: [], resolve })
    zone = { 'rebind.example.com': { A: ['5db8d70e'] } }
    expect((await guard.checkReachable('https://rebind.example.com/')).hostname).toBe('rebind.example.com')
    zone = { 'rebind.example.com': { A: ['5db8d70e'], AAAA: ['fd000ec2000000000000000000000254'] } }
    await expect(guard.addressesOf('rebind.example.com')).rejects.toMatchObject({ code: 'url_refused' })
  })
})

test('local trials know the names of this machine', async () => {
  const addresses = (await resolveAsSystem('localhost')).map(({ address }) => address)
  expect(addresses.every((address) => ['127.0.0.1', '::1'].includes(address))).toBe(true)
  expect(addresses).not.toEqual([])
})
