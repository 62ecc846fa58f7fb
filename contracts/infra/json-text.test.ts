import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonText, textOf } from './json.ts'

const anObject = fc.dictionary(
  fc.string({ unit: 'binary' }).map((key) => `k${key}`),
  fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }),
  { minKeys: 1 },
)

describe('the text of an object', () => {
  test('is the same in each of its forms, with further members too, whatever its characters are', () => {
    fc.assert(
      fc.property(anObject, fc.string({ unit: 'binary' }), (object, more) => {
        const text = new JsonText(JSON.stringify(object))
        expect(text.quoted).toBe(JSON.stringify(text.text))
        const longer = text.with(`"z":${JSON.stringify(more)}`)
        expect(longer.quoted).toBe(JSON.stringify(longer.text))
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
