import { describe, expect, test } from 'vitest'
import { isPublicAddress, isTrialAddress } from './check-url.ts'

/** First and last address of every special range, and their neighbours outside, where those are public. */
const NOT_PUBLIC = `
  0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0
  127.255.255.255 169.254.0.0 169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0
  192.0.0.255 192.0.2.0 192.0.2.255 192.31.196.0 192.31.196.255 192.52.193.0 192.52.193.255
  192.88.99.0 192.88.99.255 192.168.0.0 192.168.255.255 192.175.48.0 192.175.48.255 198.18.0.0
  198.19.255.255 198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255 224.0.0.0 239.255.255.255
  240.0.0.0 255.255.255.255 168.63.129.16 :: ::1 ::7f00:1 ::ffff:8.8.8.8 ::ffff:0:8.8.8.8
  64:ff9b::808:808 64:ff9b:1::1 100::1 200::1 1fff:ffff::1 2001::1 2001:2::1 2001:10::1 2001:20::1
  2001:30::1 2001:1ff:ffff::1 2001:db8::1 2001:db8:ffff::1 2002::1 2002:ffff::1 2620:4f:8000::1
  3fff::1 3fff:fff:ffff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 febf::1 fec0::1 ff02::1
  ffff::1
`
  .trim()
  .split(/\s+/)
const PUBLIC = `
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
  168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0
  192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 203.0.112.255 203.0.114.0
  223.255.255.255 2001:200::1 2001:db7:ffff::1 2001:db9::1 2003::1 2606:4700:4700::1111
  2620:4f:8001::1 2a00:1450::1 3ffe:ffff::1
`
  .trim()
  .split(/\s+/)

describe('public addresses', () => {
  test.each(NOT_PUBLIC)('%s is none', (address) => expect(isPublicAddress(address)).toBe(false))
  test.each(PUBLIC)('%s is one', (address) => expect(isPublicAddress(address)).toBe(true))

  test.each([
    '',
    '1',
    '127.1',
    '0x7f.0.0.1',
    '010.8.8.8',
    '8.8.8.8.',
    ' 8.8.8.8',
    '2606:4700::%eth0',
    'a.com',
    '[::1]',
  ])('%j is not written as an address', (text) => expect(isPublicAddress(text)).toBe(false))
})

describe('local trials', () => {
  test.each(['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '::1', 'fd00::1', '8.8.8.8', '2003::1'])(
    'reach %s',
    (address) => expect(isTrialAddress(address)).toBe(true),
  )

  test.each([
    '169.254.169.254',
    'fe80::1',
    'fd00:ec2::254',
    '168.63.129.16',
    '0.0.0.0',
    '::',
    '224.0.0.1',
    '::ffff:127.0.0.1',
    'x',
  ])('do not reach %s', (address) => expect(isTrialAddress(address)).toBe(false))
})
