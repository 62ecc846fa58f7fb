import { hash } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { contentText, decodeEntry, encodeEntry, entryOf } from './entry.ts'
import { leafHash } from './merkle.ts'

const validUntil = Date.UTC(2026, 0, 1)
const data = { z: 1, validUntil, a: 'ä"\\', list: [true, null, -1.5e-7], text: '"validUntil":5,' }
const verdict = { id: 'one', type: 'VerdictRecorded', schema: 3, data } as const

test('an entry has the same bytes for ever', () => {
  const text =
    '{"data":{"a":"ä\\"\\\\","list":[true,null,-1.5e-7],"text":"\\"validUntil\\":5,","validUntil":1767225600000,"z":1},"id":"one","schema":3,"type":"VerdictRecorded"}'
  for (let time = 0; time < 2; time++)
    expect(contentText({ ...verdict, text: JSON.stringify(data) })).toBe(text)
  expect(contentText(verdict)).toBe(text)
  const bytes = encodeEntry(entryOf(verdict))
  const head = '01010000019b76daa800'
  expect(bytes.toString('hex')).toBe(head + hash('sha256', text))
  expect(leafHash(bytes).toString('hex')).toBe(
    '941951d2bcc543d741c6cba9ce0794a694d4c209ef76ddfae64fdc13e517d313',
  )
})

const value = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })
const sameShapes = fc
  .dictionary(fc.string({ maxLength: 6, unit: 'grapheme' }), value, { maxKeys: 6 })
  .map((one) => JSON.parse(JSON.stringify(one)) as JsonObject)

test('the text of data that was written is put in order as the data itself would be', () => {
  fc.assert(
    fc.property(
      sameShapes,
      fc.array(fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }))),
      (first, numbers) => {
        // The second is of the shape of the first, with other values.
        for (const one of [
          first,
          first,
          { ...first, other: [...numbers] },
          { ...first, other: numbers.map(String) },
        ]) {
          const content = { ...verdict, data: one }
          expect(contentText({ ...content, text: JSON.stringify(one) })).toBe(contentText(content))
        }
      },
    ),
  )
})

test('only a verdict is hidden until its window has closed, and an entry says when', () => {
  expect(decodeEntry(encodeEntry(entryOf(verdict)))).toEqual(entryOf(verdict))
  expect(entryOf(verdict)).toMatchObject({ kind: 1, opensAt: validUntil })
  expect(entryOf({ ...verdict, type: 'OutcomeLabelled' })).toMatchObject({ kind: 2, opensAt: 0 })
  expect(() => entryOf({ ...verdict, type: 'KeyCreated' })).toThrow('KeyCreated is no entry of the log')
})

test.each([Buffer.alloc(0), Buffer.alloc(42), Buffer.alloc(43, 1)])('bytes that are no entry: %j', (bytes) =>
  expect(decodeEntry(bytes)).toBeUndefined(),
)
