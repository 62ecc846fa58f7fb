import type { ResolvedEvent } from '@eventstore/db-client'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { NewEvent } from '../../../contracts/event.ts'
import { comparePositions } from '../../../contracts/position.ts'
import { encodeAppend } from '../encode-append.ts'
import {
  isPlainlySound,
  parseStored,
  proposeEvent,
  storedMetadataSchema,
  toLogPosition,
  toPosition,
} from './recorded-event.ts'

const logPosition = fc
  .tuple(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }))
  .map(([commit, prepare]) => ({ commit, prepare }))

test('positions come back as they were, in the same order', () => {
  fc.assert(
    fc.property(logPosition, logPosition, (a, b) => {
      expect(toLogPosition(toPosition(a))).toEqual(a)
      const order = Number(a.commit > b.commit) - Number(a.commit < b.commit)
      const expected = order || Number(a.prepare > b.prepare) - Number(a.prepare < b.prepare)
      expect(Math.sign(comparePositions(toPosition(a), toPosition(b)))).toBe(expected)
    }),
  )
})

const text = fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' })
/** Events hold no key `__proto__`, which appending refuses. */
const json = fc
  .jsonValue({ maxDepth: 4, stringUnit: 'grapheme' })
  .filter((value) => !JSON.stringify(value).includes('"__proto__":'))

/** An event as the server returns it. */
function recordAs(proposed: ReturnType<typeof proposeEvent>, stream: string): ResolvedEvent {
  const { id, type } = proposed
  const [data, metadata] = [proposed.data, proposed.metadata].map((sent): unknown => JSON.parse(sent))
  const event = {
    streamId: stream,
    id,
    type,
    data,
    metadata,
    isJson: true,
    revision: 7n,
    position: { commit: 12n, prepare: 12n },
    created: new Date(1_735_689_600_123),
  }
  return { event } as unknown as ResolvedEvent
}

test('an event comes back as it was, whatever id the server knows it by', () => {
  const events = fc.record({
    id: fc.uuid({ version: 7 }),
    type: fc.constant('SomethingHappened'),
    schema: fc.integer({ min: 1, max: 99 }),
    data: fc.dictionary(
      text.filter((key) => key !== '__proto__'),
      json,
    ),
    meta: fc.record(
      { correlationId: text, causationId: text, actor: text },
      { requiredKeys: ['correlationId', 'actor'] },
    ),
  })
  fc.assert(
    fc.property(events, fc.uuid(), fc.uuid(), (event, serverId, attempt) => {
      const original = JSON.parse(JSON.stringify(event)) as NewEvent
      const [encoded] = encodeAppend('s-1', [original], 'any').events
      if (encoded === undefined) throw new Error('one event was encoded')
      const stored = parseStored(recordAs(proposeEvent(encoded, serverId, attempt), 's-1'))
      expect(stored).toEqual({
        attempt,
        event: { ...original, stream: 's-1', revision: 7, position: '12/12', at: '2025-01-01T00:00:00.123Z' },
      })
    }),
    { numRuns: 200 },
  )
})

test("EventStoreDB's own events are none of ours; others without our metadata are refused", () => {
  const own = { streamId: '$$s-1', type: '$metadata' }
  expect(parseStored({ event: own } as unknown as ResolvedEvent)).toBeUndefined()
  expect(parseStored({})).toBeUndefined()
  const foreign = {
    streamId: 's-1',
    type: 'Foreign',
    revision: 3n,
    isJson: true,
    data: {},
    metadata: { id: 'x' },
  }
  expect(() => parseStored({ event: foreign } as unknown as ResolvedEvent)).toThrow(
    'Foreign at revision 3 of s-1',
  )
})

test('metadata that is looked at without its schema is what the schema lets pass, and what is written is so', () => {
  const written = {
    id: '019abcde-7c00-7001-8000-000000000001',
    attempt: '5f0c2d7e-91ab-4c34-a6d2-07e4b8139c55',
    schema: 1,
    meta: { correlationId: 'c', actor: 'a' },
    $correlationId: 'c',
  }
  expect(isPlainlySound(written)).toBe(true)
  expect(isPlainlySound({ ...written, at: '2026-11-22T12:00:00.007Z' })).toBe(true)
  expect(isPlainlySound({ ...written, at: '2026-02-30T12:00:00.007Z' })).toBe(false)
  const anything = fc.oneof(
    fc.jsonValue(),
    fc.string({ maxLength: 200 }),
    fc.constantFrom(...Object.values(written), 0, -1, 1.5, '', 'x'.repeat(129), undefined),
  )
  const changed = fc.record(
    {
      id: anything,
      attempt: anything,
      schema: anything,
      meta: fc.oneof(
        anything,
        fc.record(
          {
            correlationId: anything,
            actor: anything,
            causationId: anything,
            traceparent: anything,
            other: anything,
          },
          { requiredKeys: [] },
        ),
      ),
      $correlationId: anything,
      $causationId: anything,
      at: fc.oneof(
        anything,
        fc.constantFrom('2026-11-22T12:00:00.007Z', '2026-11-22T12:00:00Z', '2026-13-01T00:00:00.000Z'),
        fc.date().map(String),
      ),
      another: anything,
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(changed, (change) => {
      const metadata = JSON.parse(JSON.stringify({ ...written, ...change })) as unknown
      if (!isPlainlySound(metadata)) return
      expect(metadata).toMatchObject(storedMetadataSchema.parse(metadata))
    }),
    { numRuns: 2_000 },
  )
})
