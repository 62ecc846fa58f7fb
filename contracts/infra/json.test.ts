import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../limits.ts'
import { canonicalJson, type Json, jsonFault, parseJson } from './json.ts'

// JSON has one zero: -0 is the only accepted value that comes back as another.
expect.addEqualityTesters([(a: unknown, b: unknown) => (a === 0 && b === 0 ? true : undefined)])

const DEPTH = LIMITS.jsonDepth
const fromJson = (text: string): unknown => JSON.parse(text) as unknown
const aJson = fc.jsonValue({ stringUnit: 'binary', maxDepth: 5 }) as fc.Arbitrary<Json>

describe('parseJson', () => {
  test('reads all that is JSON, and refuses an object that has a name twice wherever it is', () => {
    fc.assert(
      fc.property(aJson, fc.nat(), (value, indent) => {
        const text = JSON.stringify(value, null, indent % 3)
        expect(parseJson(text)).toEqual(fromJson(text))
        expect(() => parseJson(`{"a\\u0062":[${text}],"x":{"ab":1}, "ab" :2}`)).toThrow('"ab" stands twice')
      }),
    )
    expect(() => parseJson(`[${'['.repeat(30_000)}`)).toThrow(SyntaxError)
  })
})

describe('jsonFault', () => {
  test('accepts JSON, and nothing that would come back from the log as something else', () => {
    const values = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withBoxedValues: true,
      withNullPrototype: true,
      withSparseArray: true,
      withTypedArray: true,
      withUnicodeString: true,
    })
    let accepted = 0
    fc.assert(
      fc.property(fc.oneof(aJson, values), (value) => {
        if (jsonFault(value, DEPTH) !== undefined) return
        accepted += 1
        expect(fromJson(JSON.stringify(value))).toEqual(value)
      }),
      { numRuns: 2_000 },
    )
    expect(accepted).toBeGreaterThan(500)
  })

  test('accepts all that JSON.parse gives, but for one key', () => {
    fc.assert(
      fc.property(aJson, (value) => {
        const text = JSON.stringify(value)
        fc.pre(!text.includes('__proto__'))
        expect(jsonFault(fromJson(text), DEPTH)).toBeUndefined()
      }),
    )
  })

  class Point {
    x = 1
  }
  class Points extends Array<number> {
    toJSON(): string {
      return 'points'
    }
  }
  const sparse: unknown[] = [1]
  sparse.length = 2
  const cyclic: unknown[] = []
  cyclic.push(cyclic)

  const HOSTILE: readonly (readonly [name: string, value: unknown, fault: RegExp])[] = [
    ['undefined', undefined, /^: undefined is not JSON$/],
    ['a bigint', 1n, /^: bigint is not JSON$/],
    ['a symbol', Symbol('s'), /^: symbol is not JSON$/],
    ['a function', () => 1, /^: function is not JSON$/],
    ['NaN', Number.NaN, /^: NaN is not JSON$/],
    ['infinity', -Infinity, /^: -Infinity is not JSON$/],
    ['a lone surrogate', 'a\uD800', /^: text with a lone surrogate/],
    ['a key with a lone surrogate', { '\uDC00': 1 }, /^: a key with a lone surrogate/],
    ['a key that sets the prototype', fromJson('{"__proto__":1}'), /^: the key __proto__ is refused$/],
    ['a date', new Date(0), /^: not a plain object$/],
    ['a map', new Map(), /^: not a plain object$/],
    ['a boxed number', Object(1), /^: not a plain object$/],
    ['a buffer', Buffer.from('a'), /^: not a plain object$/],
    ['a class instance', new Point(), /^: not a plain object$/],
    ['an instance of a subclass of arrays', Points.of(1), /^: not a plain array$/],
    ['a hole', sparse, /^\[1\]: undefined is not JSON$/],
    ['a key that is a symbol', { [Symbol('s')]: 1 }, /^: a key that is a symbol is not JSON$/],
    ['a cycle', cyclic, /^(?:\[0\])+: nested too deeply$/],
  ]

  test.each(HOSTILE)('refuses %s wherever it is, and says where', (_, value, fault) => {
    const aPath = fc.array(fc.oneof(fc.stringMatching(/^[a-z]{1,5}$/), fc.nat(3)), { maxLength: 6 })
    fc.assert(
      fc.property(aPath, (path) => {
        const around = path.reduceRight<unknown>(
          (inner, step) =>
            typeof step === 'string'
              ? { before: null, [step]: inner, Z: 1 }
              : [...Array.from({ length: step }, () => null), inner],
          value,
        )
        const where = path.map((step) => (typeof step === 'string' ? `.${step}` : `[${step}]`)).join('')
        const found = jsonFault(around, DEPTH) ?? 'nothing'
        expect(found.slice(0, where.length + 1)).toBe(`$${where}`)
        expect(found.slice(where.length + 1)).toMatch(fault)
      }),
      { numRuns: 30 },
    )
  })

  test('counts objects and arrays as levels, scalars not', () => {
    expect(jsonFault('text', 0)).toBeUndefined()
    expect(jsonFault([{ a: 1 }], 2)).toBeUndefined()
    expect(jsonFault([{ a: [] }], 2)).toBe('$[0].a: nested too deeply')
  })

  test('takes an object without a prototype', () => {
    expect(jsonFault(Object.assign(Object.create(null), { a: 1 }), 1)).toBeUndefined()
  })
})

describe('canonicalJson', () => {
  const reordered = (value: Json): Json => {
    if (value === null || typeof value !== 'object') return value
    if (Array.isArray(value)) return value.map(reordered)
    return Object.fromEntries(
      Object.entries(value)
        .map(([key, entry]) => [key, reordered(entry)] as const)
        .toReversed(),
    )
  }

  test('has one text for equal values, whatever the order of their keys', () => {
    fc.assert(
      fc.property(aJson, (value) => {
        expect(canonicalJson(reordered(value))).toBe(canonicalJson(value))
      }),
    )
  })

  test('has other text for other values, because it can be read back', () => {
    fc.assert(
      fc.property(aJson, (value) => {
        expect(fromJson(canonicalJson(value))).toEqual(fromJson(JSON.stringify(value)))
      }),
    )
  })

  test('orders keys by UTF-16 code units, as in the example of RFC 8785', () => {
    const example = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\u{1f600}': 5, '\u0080': 6, '\u00f6': 7 }
    expect(canonicalJson(example)).toBe(
      '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}',
    )
  })

  test('orders and keeps keys that an object holds in an order of its own, or not at all', () => {
    const text = '{"b":{"9":2,"10":1,"__proto__":3},"a":[{"c":{"2":1,"1":{}}}]}'
    expect(canonicalJson(JSON.parse(text) as Json)).toBe(
      '{"a":[{"c":{"1":{},"2":1}}],"b":{"10":1,"9":2,"__proto__":3}}',
    )
  })

  test('keeps the order of arrays and writes no space', () => {
    expect(canonicalJson({ b: [2, 1, { d: null, c: -0 }], a: 'x y' })).toBe(
      '{"a":"x y","b":[2,1,{"c":0,"d":null}]}',
    )
  })
})
