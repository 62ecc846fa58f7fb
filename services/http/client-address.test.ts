import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { addressBlock, createClientAddress, normaliseAddress } from './client-address.ts'

const PROXY = '10.0.0.7'
const CALLER = '203.0.113.9'
const SPOOFED = '6.6.6.6'

describe('the address of a caller', () => {
  test('is that of the connection, whatever a header claims, unless proxies are trusted', () => {
    const addressOf = createClientAddress(undefined)
    expect(addressOf({ remoteAddress: CALLER, forwardedFor: SPOOFED })).toBe(CALLER)
  })

  test('behind one proxy is what that proxy saw; claims before it count for nothing', () => {
    const addressOf = createClientAddress({ hops: 1 })
    expect(addressOf({ remoteAddress: PROXY, forwardedFor: `${SPOOFED}, ${CALLER}` })).toBe(CALLER)
    expect(addressOf({ remoteAddress: PROXY, forwardedFor: undefined })).toBe(PROXY)
  })

  test('behind two proxies is what the outer one saw', () => {
    const addressOf = createClientAddress({ hops: 2 })
    const forwardedFor = `${SPOOFED}, ${CALLER}, 10.0.0.8`
    expect(addressOf({ remoteAddress: PROXY, forwardedFor })).toBe(CALLER)
  })

  test('behind networks of proxies is the first address outside them, from the end', () => {
    const addressOf = createClientAddress({ networks: ['10.0.0.0/8', 'fd00::/8', '192.0.2.1'] })
    const forwardedFor = `10.6.6.6, ${CALLER}, fd00::1, 192.0.2.1`
    expect(addressOf({ remoteAddress: PROXY, forwardedFor })).toBe(CALLER)
    expect(addressOf({ remoteAddress: CALLER, forwardedFor: SPOOFED })).toBe(CALLER)
    expect(addressOf({ remoteAddress: `::ffff:${PROXY}`, forwardedFor: CALLER })).toBe(CALLER)
  })

  test.each(['', 'unknown', '_hidden', 'x'.repeat(10_000), '1.2.3.4.5', '999.1.1.1', '<script>'])(
    'stays that of the proxy where it says %j',
    (forwardedFor) => {
      expect(createClientAddress({ hops: 3 })({ remoteAddress: PROXY, forwardedFor })).toBe(PROXY)
    },
  )

  test('is called unknown where the connection has none', () => {
    expect(createClientAddress(undefined)({ remoteAddress: undefined, forwardedFor: SPOOFED })).toBe(
      'unknown',
    )
  })

  test('never comes from further left than proxies are trusted, however long the header', () => {
    const address = fc.ipV4()
    fc.assert(
      fc.property(
        fc.array(address, { maxLength: 40 }),
        address,
        fc.integer({ min: 1, max: LIMITS.proxyHops }),
        (claims, remoteAddress, hops) => {
          const found = createClientAddress({ hops })({ remoteAddress, forwardedFor: claims.join(', ') })
          const chain = [remoteAddress, ...claims.toReversed()]
          expect(found).toBe(chain[Math.min(hops, chain.length - 1)])
        },
      ),
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
