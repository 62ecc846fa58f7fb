import fc from 'fast-check'
import fastify from 'fastify'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import {
  addressBlock,
  addressOf,
  normaliseAddress,
  type TrustProxy,
  trustedProxies,
} from './client-address.ts'

const PROXY = '10.0.0.7'
const CALLER = '203.0.113.9'
const SPOOFED = '6.6.6.6'

/** A function that answers the address of a request which comes by a proxy. */
function callersBehind(trust: TrustProxy | undefined) {
  const app = fastify({ trustProxy: trustedProxies(trust) })
  app.get('/', async (request) => addressOf(request))
  return async (remoteAddress: string, forwardedFor?: string): Promise<string> => {
    const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }
    return (await app.inject({ url: '/', remoteAddress, headers })).body
  }
}

describe('the address of a caller', () => {
  test('is that of the connection, whatever a header claims, unless proxies are trusted', async () => {
    expect(await callersBehind(undefined)(CALLER, SPOOFED)).toBe(CALLER)
  })

  test('behind one proxy is what that proxy saw; claims before it count for nothing', async () => {
    const callerOf = callersBehind({ hops: 1 })
    expect(await callerOf(PROXY, `${SPOOFED}, ${CALLER}`)).toBe(CALLER)
    expect(await callerOf(PROXY)).toBe(PROXY)
  })

  test('behind two proxies is what the outer one saw', async () => {
    expect(await callersBehind({ hops: 2 })(PROXY, `${SPOOFED}, ${CALLER}, 10.0.0.8`)).toBe(CALLER)
  })

  test('behind networks of proxies is the first address outside them, from the end', async () => {
    const callerOf = callersBehind({ networks: ['10.0.0.0/8', 'fd00::/8', '192.0.2.1'] })
    expect(await callerOf(PROXY, `10.6.6.6, ${CALLER}, fd00::1, 192.0.2.1`)).toBe(CALLER)
    expect(await callerOf(CALLER, SPOOFED)).toBe(CALLER)
    expect(await callerOf(`::ffff:${PROXY}`, CALLER)).toBe(CALLER)
  })

  test.each(['', 'unknown', '_hidden', 'x'.repeat(10_000), '1.2.3.4.5', '999.1.1.1', '<script>'])(
    'stays that of the proxy where it says %j',
    async (forwardedFor) => {
      expect(await callersBehind({ hops: 3 })(PROXY, forwardedFor)).toBe(PROXY)
    },
  )

  test('is called unknown where the connection has none', () => {
    expect(addressOf({ ip: undefined as never, socket: {} as never })).toBe('unknown')
  })

  test('never comes from further left than proxies are trusted, however long the header', async () => {
    const address = fc.ipV4()
    const claimed = fc.array(address, { maxLength: 40 })
    const trusted = fc.integer({ min: 1, max: LIMITS.proxyHops })
    await fc.assert(
      fc.asyncProperty(claimed, address, trusted, async (claims, remoteAddress, hops) => {
        const chain = [remoteAddress, ...claims.toReversed()]
        const forwardedFor = claims.length === 0 ? undefined : claims.join(', ')
        expect(await callersBehind({ hops })(remoteAddress, forwardedFor)).toBe(
          chain[Math.min(hops, chain.length - 1)],
        )
      }),
    )
  })
})

describe('an address has one spelling', () => {
  test.each([
    ['127.0.0.1', '127.0.0.1'],
    [' 127.0.0.1:54321 ', '127.0.0.1'],
    ['::ffff:127.0.0.1', '127.0.0.1'],
    ['::FFFF:7f00:1', '127.0.0.1'],
    ['0:0:0:0:0:ffff:127.0.0.1', '127.0.0.1'],
    ['[::ffff:127.0.0.1]:8402', '127.0.0.1'],
    ['::1', '0:0:0:0:0:0:0:1'],
    ['::', '0:0:0:0:0:0:0:0'],
    ['2001:DB8::00a1:1%eth0', '2001:db8:0:0:0:0:a1:1'],
    ['64:ff9b::192.0.2.33', '64:ff9b:0:0:0:0:c000:221'],
  ])('%j is %s', (text, spelling) => {
    expect(normaliseAddress(text)).toBe(spelling)
  })

  test.each(['', 'localhost', '127.0.0.1/8', '1.2.3', ':::', '[::1', 'fe80::g'])('%j is none', (text) => {
    expect(normaliseAddress(text)).toBeUndefined()
  })

  test('every spelling of an IPv6 address leads to the same one', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 0xff_ff }), { minLength: 8, maxLength: 8 }),
        (groups) => {
          const padded = groups.map((group) => group.toString(16).padStart(4, '0').toUpperCase()).join(':')
          const compressed = new URL(`http://[${padded}]`).hostname
          expect(normaliseAddress(compressed)).toBe(normaliseAddress(padded))
        },
      ),
    )
  })

  test('for limits it is the whole IPv4 address and the /64 of an IPv6 address', () => {
    const blockOf = (text: string) => addressBlock(normaliseAddress(text) ?? '')
    expect(blockOf('2001:db8:1:2::3')).toBe('2001:db8:1:2::/64')
    expect(blockOf('2001:db8:1:2:ffff:ffff:ffff:ffff')).toBe(blockOf('2001:db8:1:2::'))
    expect(blockOf('2001:db8:1:3::')).not.toBe(blockOf('2001:db8:1:2::'))
    expect(blockOf('::ffff:192.0.2.1')).toBe('192.0.2.1')
    expect(blockOf('192.0.2.1')).not.toBe(blockOf('192.0.2.2'))
  })
})
