import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createFactIds } from './fact-id.ts'
import { uuidV7, uuidV8 } from './uuid.ts'

describe('uuidV7', () => {
  test('is the example of RFC 9562, appendix A.6', () => {
    const random = Buffer.from('0cc318c4dc0c0c07398f', 'hex')
    expect(uuidV7(0x017f22e279b0, random)).toBe('017f22e2-79b0-7cc3-98c4-dc0c0c07398f')
  })

  test('is well formed, and sorts by time', () => {
    const times = fc.nat(2 ** 47 - 1)
    fc.assert(
      fc.property(times, times, fc.uint8Array({ minLength: 10, maxLength: 10 }), (a, b, random) => {
        const [first, second] = [uuidV7(a, random), uuidV7(b, random)]
        expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        expect(Math.sign(first.localeCompare(second))).toBe(Math.sign(a - b))
      }),
    )
  })
})

describe('uuidV8', () => {
  test('keeps all bits but version and variant', () => {
    expect(uuidV8(Buffer.from('5c146b143c524afd938a375d0df1fbf6', 'hex'))).toBe(
      '5c146b14-3c52-8afd-938a-375d0df1fbf6',
    )
  })
})

describe('fact ids', () => {
  test('are the same for the same fact, and other parts never run into one another', () => {
    const idOf = createFactIds(Buffer.from('secret'))
    const id = idOf('verdict', 'SIM.BTC.1h', '1')
    expect(id).toBe(createFactIds(Buffer.from('secret'))('verdict', 'SIM.BTC.1h', '1'))
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(idOf('a', 'bc')).not.toBe(idOf('ab', 'c'))
    expect(idOf('a', 'b')).not.toBe(createFactIds(Buffer.from('other'))('a', 'b'))
  })

  test('of facts that belong to an instant sort by it, and cannot be guessed from it', () => {
    const idOf = createFactIds(Buffer.from('secret'))
    const noon = Date.UTC(2026, 10, 21, 12)
    const id = idOf.at(noon, 'verdict', 'SIM.BTC.1h')
    expect(id).toBe(idOf.at(noon, 'verdict', 'SIM.BTC.1h'))
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(noon)
    expect(id < idOf.at(noon + 1, 'verdict', 'SIM.ETH.1h')).toBe(true)
    const others = [
      idOf.at(noon, 'verdict', 'SIM.ETH.1h'),
      createFactIds(Buffer.from('other')).at(noon, 'verdict', 'SIM.BTC.1h'),
    ]
    expect(new Set([id, ...others].map((one) => one.slice(14))).size).toBe(3)
  })
})
