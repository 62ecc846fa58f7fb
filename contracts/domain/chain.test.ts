import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addressSchema,
  BASE,
  bytes32Schema,
  formatUsdc,
  microUsdcSchema,
  parseUsdc,
  USDC_TEXT,
} from './chain.ts'

describe('amounts of USDC', () => {
  test.each([
    [0n, '0.00'],
    [1n, '0.000001'],
    [20_000n, '0.02'],
    [1_000_000n, '1.00'],
    [1_050_000n, '1.05'],
    [9_990_000n, '9.99'],
    [49_000_000n, '49.00'],
    [123_456_789n, '123.456789'],
    [2n ** 256n - 1n, '115792089237316195423570985008687907853269984665640564039457584007913129.639935'],
  ])('%s millionths read %s', (amount, text) => {
    expect(formatUsdc(amount)).toBe(text)
  })

  test('are the same amount read back, whatever they are', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }), (amount) => {
        const text = formatUsdc(amount)
        expect(text).toMatch(USDC_TEXT)
        expect(parseUsdc(text)).toBe(amount)
      }),
    )
  })

  test.each(['00', '01', '-1', '1.5', '', '1e3', ' 1', '0x1', '1234567890123456789'])(
    'are not told as %j millionths',
    (text) => {
      expect(microUsdcSchema.safeParse(text).success).toBe(false)
    },
  )

  test.each(['0', '1', '999999999999999999'])('may be %s millionths', (text) => {
    expect(microUsdcSchema.parse(text)).toBe(text)
  })
})

describe('addresses and hashes', () => {
  test('are one in every spelling', () => {
    expect(addressSchema.parse(BASE.usdc)).toBe(BASE.usdc.toLowerCase())
    expect(bytes32Schema.parse(`0x${'Ab'.repeat(32)}`)).toBe(`0x${'ab'.repeat(32)}`)
  })

  test.each([
    '',
    '0x',
    BASE.usdc.slice(2),
    `${BASE.usdc}0`,
    BASE.usdc.slice(0, -1),
    `0X${'1'.repeat(40)}`,
    `0x${'g'.repeat(40)}`,
    `\n${BASE.usdc}`,
    `${BASE.usdc}\n`,
  ])('are not %j', (text) => {
    expect(addressSchema.safeParse(text).success).toBe(false)
    expect(bytes32Schema.safeParse(text).success).toBe(false)
  })
})
