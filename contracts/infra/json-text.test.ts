import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonText, textOf } from './json.ts'

const read = (bytes: string): unknown => JSON.parse(Buffer.from(bytes, 'latin1').toString()) as unknown
const anObject = fc.dictionary(
  fc.string({ unit: 'binary' }).map((key) => `k${key}`),
  fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }),
  { minKeys: 1 },
)

function expectForms({ text, bytes, quoted }: JsonText): void {
  expect(Buffer.from(bytes, 'latin1').equals(Buffer.from(text))).toBe(true)
  expect(read(quoted)).toBe(text)
  expect(Buffer.from(quoted, 'latin1').equals(Buffer.from(JSON.stringify(text)))).toBe(true)
}

describe('the text of an object', () => {
  test('is the same in each of its forms, with further members too, whatever its characters are', () => {
    fc.assert(
      fc.property(anObject, fc.string({ unit: 'binary' }), (object, more) => {
        const text = new JsonText(JSON.stringify(object))
        expectForms(text)
        const longer = text.with(`"z":${JSON.stringify(more)}`)
        expectForms(longer)
        expect(longer.text).toBe(JSON.stringify({ ...object, z: more }))
      }),
    )
  })

  test('is made once, or kept by its maker', () => {
    const [one, other] = [{ a: '−1' }, { a: '−1' }]
    expect(textOf(one)).toBe(textOf(one))
    const kept = textOf(other, new JsonText('{"a":"−1"}'))
    expect(textOf(other)).toBe(kept)
    expect(kept.text).toBe(textOf(one).text)
  })
})
