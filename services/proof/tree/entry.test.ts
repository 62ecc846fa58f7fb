import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { canonicalJson, type Json, type JsonObject } from '../../../contracts/json.ts'
import { contentText, ENTRY_TYPES, entryOf, recordedEntry } from './entry.ts'
import { recordedJson } from './recorded-text.ts'

const FIXTURES = join(import.meta.dirname, '../../../contracts/fixtures')

/** An event as a store gives it, with the text of its data, which is parsed when it is asked for. */
function stored({ data, ...event }: RecordedEvent) {
  const text = JSON.stringify(data)
  let looks = 0
  return {
    looks: () => looks,
    event: {
      ...event,
      text,
      get data() {
        looks += 1
        return JSON.parse(text) as JsonObject
      },
    },
  }
}

const recorded = (schema: number, data: JsonObject): RecordedEvent => ({
  id: 'id',
  stream: 'verdict-SIM.BTC.1h',
  revision: 0,
  position: '1',
  type: 'VerdictRecorded',
  schema,
  at: '2025-01-01T00:00:00.000Z',
  data,
  meta: { correlationId: 'test', actor: 'test' },
})

describe('the entry of an event whose text is at hand', () => {
  const fixtures = readdirSync(FIXTURES)
    .filter((name) => (ENTRY_TYPES as readonly string[]).includes(name.split('.')[0] ?? ''))
    .map((name) => [name, JSON.parse(readFileSync(join(FIXTURES, name), 'utf8')) as RecordedEvent] as const)

  test.each(fixtures)('%s: it is that of the parsed event', (_name, event) => {
    const { id, type, schema, data } = event
    for (let again = 0; again < 3; again++) {
      expect(recordedEntry(stored(event).event)).toEqual(entryOf(event))
      expect(String(recordedJson(event))).toBe(canonicalJson({ id, type, schema, data }))
    }
  })

  test.each(fixtures.filter(([name]) => /^(?:Verdict|Outcome)/.test(name)))(
    '%s: the second of a kind is not parsed',
    (_name, event) => {
      recordedEntry(stored(event).event)
      const { event: second, looks } = stored(event)
      recordedEntry(second)
      expect(looks()).toBe(0)
    },
  )

  const value = fc.jsonValue({ depthSize: 'medium' }) as fc.Arbitrary<Json>
  const key = fc.oneof(
    fc.string(),
    fc.constantFrom('validUntil', '10', '2', 'a.b', 'a"b', 'a\\b', 'ä', '__proto__'),
  )

  test('whatever the data, in the same shape again and in others', () => {
    const data = fc.array(fc.dictionary(key, value, { maxKeys: 6 }), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(data, fc.nat(400), (many, schema) => {
        for (const one of [...many, ...many]) {
          const event = recorded(schema, JSON.parse(JSON.stringify(one)) as JsonObject)
          expect(recordedEntry(stored(event).event)).toEqual(entryOf(event))
          expect(String(recordedJson(event))).toBe(contentText(event))
        }
      }),
    )
  })

  test('of values of other kinds at the same keys', () => {
    const one = fc.record({
      b: value,
      validUntil: fc.oneof(fc.nat(), value),
      a: value,
      n: fc.double({ noNaN: true, noDefaultInfinity: true }),
    })
    fc.assert(
      fc.property(fc.array(one, { maxLength: 8 }), (many) => {
        for (const data of many) {
          const event = recorded(900, JSON.parse(JSON.stringify(data)) as JsonObject)
          expect(recordedEntry(stored(event).event)).toEqual(entryOf(event))
        }
      }),
    )
  })

  test('of any length up to the longest that is put in order, and beyond', () => {
    for (let length = 8_150; length < 8_200; length++) {
      for (const filled of ['a', 'ä', '漢', '\u007f']) {
        const event = recorded(902, { z: filled.repeat(length), b: length, a: [true, null, -1.5e-7] })
        expect(String(recordedJson(stored(event).event))).toBe(contentText(event))
      }
    }
  })

  test('that ends amid what one before it left behind', () => {
    const long = { zz: 1, value: 'x'.repeat(40), more: 12_345 }
    const texts = [
      JSON.stringify(long),
      ...Array.from({ length: 9 }, (_, cut) => JSON.stringify({ ...long, value: 'x'.repeat(40 - cut) })),
    ]
    for (const text of [...texts, '{"zz":1}', '{"zz":1,"value":"x"}', ...texts]) {
      const event = recorded(903, JSON.parse(text) as JsonObject)
      expect(String(recordedJson(stored(event).event))).toBe(contentText(event))
    }
  })

  test('a window within a text, or within an object, is not that of the verdict', () => {
    for (const data of [
      { a: '{"validUntil":5,', validUntil: 7 },
      { a: { validUntil: 5, b: 1 }, validUntil: 7 },
      { a: ['"validUntil":5,'], validUntil: 7, b: 1 },
      { validUntil: '5', a: 1 },
      { validUntil: -5, a: 1 },
      { validUntil: 5.5, a: 1 },
      { validUntil: 1e21, a: 1 },
      { validUntil: 5 },
    ]) {
      const event = recorded(901, data)
      for (let again = 0; again < 2; again++)
        expect(recordedEntry(stored(event).event).opensAt).toBe(entryOf(event).opensAt)
    }
  })
})
