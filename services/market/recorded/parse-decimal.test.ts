import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDecimal } from './parse-decimal.ts'

const parse = (text: string): number => {
  const bytes = Buffer.from(`,${text},`)
  return parseDecimal(bytes, 1, bytes.length - 1)
}

describe('parseDecimal', () => {
  it('reads any number as Number does, to the last bit', () => {
    const number = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.float({ noNaN: true, noDefaultInfinity: true }),
    )
    fc.assert(
      fc.property(number, (value) => {
        expect(parse(String(value))).toBe(Number(String(value)))
      }),
    )
  })

  it('reads decimals with any number of places as Number does', () => {
    const digits = fc.string({
      unit: fc.constantFrom('0', '1', '4', '5', '7', '9'),
      minLength: 1,
      maxLength: 20,
    })
    fc.assert(
      fc.property(digits, digits, (whole, decimals) => {
        const text = `${whole}.${decimals}`
        expect(parse(text)).toBe(Number(text))
      }),
    )
  })

  it.each(['', ' ', '-', '.', 'abc', 'NaN', 'Infinity', '0x10', '1.2.3', '1,5', '1_000', '12e', 'null'])(
    'takes "%s" for no number',
    (text) => {
      expect(parse(text)).toBeNaN()
    },
  )

  // Digits that could be before or behind a point that is not there were tried in every place.
  it('reads a field without end at once', { timeout: 5_000 }, () => {
    for (const text of [`${'1'.repeat(500_000)}x`, `1.${'1'.repeat(500_000)}`, '9'.repeat(500_000)])
      expect(parse(text)).toBe(Number(text))
  })
})
