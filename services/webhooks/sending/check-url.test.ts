import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import { checkUrl, type EgressPolicy, isPublicAddress } from './check-url.ts'

const POLICY: EgressPolicy = {
  allowPrivate: false,
  ownHosts: ['api.service.example.com', 'Signals.Example.ORG.'],
}
const TRIAL: EgressPolicy = { ...POLICY, allowPrivate: true }

/** The refusal of an address; undefined where it passes. */
function refusalOf(url: string, policy: EgressPolicy = POLICY): string | undefined {
  try {
    checkUrl(url, policy)
    return undefined
  } catch (error) {
    if (!isServiceError(error, 'url_refused')) throw error
    expect(error.details).toEqual({ field: 'url' })
    return error.message
  }
}

describe('an address that is taken', () => {
  test.each([
    ['https://example.com/hook', 'https://example.com', 'example.com', '/hook'],
    ['https://example.com', 'https://example.com', 'example.com', '/'],
    ['https://example.com:443', 'https://example.com', 'example.com', '/'],
    ['https://EXAMPLE.com.:8443/a/../b?c=%2e#d', 'https://example.com:8443', 'example.com', '/b?c=%2e'],
    ['HTTPS://bot.example.com?q', 'https://bot.example.com', 'bot.example.com', '/?q'],
    ['https://8.8.8.8:8443/x', 'https://8.8.8.8:8443', '8.8.8.8', '/x'],
    ['https://[2606:4700:4700::1111]/x', 'https://[2606:4700:4700::1111]', '2606:4700:4700::1111', '/x'],
    ['https://[2606:4700:4700:0:0:0:0:1111]', 'https://[2606:4700:4700::1111]', '2606:4700:4700::1111', '/'],
    ['https://example.com/ü?ü', 'https://example.com', 'example.com', '/%C3%BC?%C3%BC'],
    ['https://a_b.xn--mnchen-3ya.de/', 'https://a_b.xn--mnchen-3ya.de', 'a_b.xn--mnchen-3ya.de', '/'],
    ['https://example.com/@user', 'https://example.com', 'example.com', '/@user'],
    [`https://example.com/${'a'.repeat(2028)}`, 'https://example.com', 'example.com', `/${'a'.repeat(2028)}`],
  ])('%s', (url, origin, hostname, path) => {
    expect(checkUrl(url, POLICY)).toEqual({ origin, hostname, path })
  })
})

describe('an address that is refused', () => {
  test.each([
    ['', 'is empty'],
    [`https://example.com/${'a'.repeat(2029)}`, '2049 characters; at most 2048'],
    ['http://example.com/', 'must begin with https://'],
    ['ftp://example.com/', 'must begin with https://'],
    ['//example.com/', 'must begin with https://'],
    ['not a url', 'must begin with https://'],
    ['bot.example.com/my hook', 'must begin with https://'],
    ['https:/example.com/', 'must begin with https://'],
    ['https:///example.com/', 'must begin with https://'],
    ['https:\\\\example.com/', 'a backslash'],
    ['https://example.com\\@127.0.0.1/', 'a backslash'],
    [' https://example.com/', 'a space'],
    ['https://example.com/a b', 'a space'],
    ['https://exam\tple.com/', 'a control character'],
    ['https://example.com/\r\nHost: x', 'a control character'],
    ['https://example.com/\u0000', 'a control character'],
    ['https://example.com/\u00a0', 'a space'],
    ['https://example.com/\ud800', 'a control character'],
    ['https://example.com@127.0.0.1/', 'names a user'],
    ['https://:@example.com/', 'names a user'],
    ['https://ex%61mple.com/', 'percent-encoded'],
    ['https://１２７.0.0.1/', 'not written in ASCII'],
    ['https://ⓛocalhost/', 'not written in ASCII'],
    ['https://example。com/', 'not written in ASCII'],
    ['https://', 'cannot be read as a URL'],
    ['https://:443/', 'cannot be read as a URL'],
    ['https://exa<mple.com/', 'cannot be read as a URL'],
    ['https://1.2.3.4.5/', 'cannot be read as a URL'],
    ['https://[::1/', 'cannot be read as a URL'],
    ['https://[fe80::1%25eth0]/', 'percent-encoded'],
    ['https://example.com:65536/', 'cannot be read as a URL'],
    ['https://example.com:80/', 'Port 80 is not sent to'],
    ['https://example.com:0/', 'Port 0 is not sent to'],
    ['https://example.com:4433/', 'Port 4433 is not sent to'],
    ['https://127.0.0.1/', '127.0.0.1 is not a public one'],
    ['https://127.1/', 'another form of 127.0.0.1'],
    ['https://0x08080808/', 'another form of 8.8.8.8'],
    ['https://8.8.8.8./', 'another form of 8.8.8.8'],
    ['https://010.8.8.8/', 'another form of 8.8.8.8'],
    ['https://[::ffff:8.8.8.8]/', '::ffff:808:808 is not a public one'],
    ['https://intranet/', 'it has no domain'],
    ['https://a..example.com/', 'not a name of the domain name system'],
    ['https://example.com../', 'not a name of the domain name system'],
    ['https://-a.example.com/', 'not a name of the domain name system'],
    ["https://a'b.example.com/", 'not a name of the domain name system'],
    [`https://${'a'.repeat(64)}.com/`, 'not a name of the domain name system'],
    [`https://${'a.'.repeat(126)}com/`, 'not a name of the domain name system'],
    ['https://printer.LOCAL./', 'end in .local are not public'],
    ['https://metadata.google.internal/', 'end in .internal are not public'],
    ['https://1.0.0.127.in-addr.arpa/', 'end in .arpa are not public'],
    ['https://a.test/', 'end in .test are not public'],
    ['https://API.service.example.com./x', 'api.service.example.com is this service'],
    ['https://signals.example.org/', 'signals.example.org is this service'],
  ])('%j: %s', (url, words) => {
    expect(refusalOf(url)).toContain(words)
  })

  test('is not repeated in the refusal, because its path may hold a secret', () => {
    expect(refusalOf('https://127.0.0.1/hook?token=hunter2')).not.toContain('hunter2')
  })
})

describe('local trials', () => {
  test.each([
    'http://127.0.0.1:9000/hook',
    'http://localhost:9000/',
    'http://receiver:80/',
    'https://[::1]:1/',
    'http://10.0.0.5/',
    'https://nas.lan/',
    'https://example.com:10250/',
    'http://api.service.example.com/',
  ])('may send to %s', (url) => expect(refusalOf(url, TRIAL)).toBeUndefined())

  test.each([
    'http://169.254.169.254/latest/meta-data',
    'http://127.1/',
    'http://user@localhost/',
    'http://localhost:0/',
    'http://0.0.0.0/',
    'file:///etc/passwd',
    'http://local host/',
  ])('may not send to %s', (url) => expect(refusalOf(url, TRIAL)).toBeDefined())
})

/** Parts of addresses that mean something else. */
const PIECES =
  'https:// http:// example.com 127.0.0.1 [::1] 8.8.8.8 :443 :8443 :22 @ / \\ ? # %2f . .. localhost .internal ａ 。 0x7f [ ]'.split(
    ' ',
  )

describe('whatever is given', () => {
  const numeric = fc.nat(0xffffffff)
  const asDotted = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.')
  const forms = fc.constantFrom<(value: number) => string>(
    (value) => String(value),
    (value) => `0x${value.toString(16)}`,
    (value) => `0${value.toString(8)}`,
    (value) => `${value >>> 24}.${value & 0xffffff}`,
    (value) => `${value >>> 24}.${(value >>> 16) & 255}.${value & 0xffff}`,
    (value) => [24, 16, 8, 0].map((shift) => `0x${((value >>> shift) & 255).toString(16)}`).join('.'),
  )

  test('an IPv4 address passes in its one form, if it is public', () => {
    fc.assert(
      fc.property(numeric, forms, (value, form) => {
        expect(refusalOf(`https://${form(value)}/`)).toBeDefined()
        expect(refusalOf(`https://${asDotted(value)}/`) === undefined).toBe(isPublicAddress(asDotted(value)))
      }),
    )
  })

  test('it is taken with a host that is public in its form, or refused with words; nothing else happens', () => {
    const pieces = fc.constantFrom(...PIECES, ' ', '\t')
    fc.assert(
      fc.property(fc.array(fc.oneof(pieces, fc.string({ maxLength: 3 })), { maxLength: 7 }), (parts) => {
        const url = parts.join('')
        if (refusalOf(url) !== undefined) return
        const { hostname, origin, path } = checkUrl(url, POLICY)
        expect(new URL(url).origin.replace(/\.(?=$|:)/, '')).toBe(origin)
        expect(origin).toMatch(/^https:\/\/(?:[^:]*|\[.*\])(?::8443)?$/)
        expect(path).toMatch(/^\/[!-~]*$/)
        expect(
          isIP(hostname) !== 0 ? isPublicAddress(hostname) : /^[a-z0-9_.-]+\.[a-z0-9_-]+$/.test(hostname),
        ).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })
})
