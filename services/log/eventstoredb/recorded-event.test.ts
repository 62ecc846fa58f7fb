import { randomUUID } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { eventMetaSchema, type NewEvent } from '../../../contracts/infra/event.ts'
import { comparePositions } from '../../../contracts/infra/position.ts'
import { anEvent } from '../event-store.contract.ts'
import { validateAppend } from '../validate-append.ts'
import {
  isEntry,
  isSound,
  parseStored,
  proposeEvent,
  type StoredEvent,
  toLogPosition,
} from './recorded-event.ts'

const number = fc.integer({ min: 0, max: 1e15 - 1 })
const logPosition = fc.tuple(number, number)

test('positions come back as they were, in the same order', () => {
  fc.assert(
    fc.property(logPosition, logPosition, (a, b) => {
      expect(toLogPosition(a.join('/'))).toEqual({ commit: BigInt(a[0]), prepare: BigInt(a[1]) })
      const expected = Math.sign(a[0] - b[0]) || Math.sign(a[1] - b[1])
      expect(Math.sign(comparePositions(a.join('/'), b.join('/')))).toBe(expected)
    }),
  )
})

const text = fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' })
/** Events hold no key `__proto__`, which appending refuses. */
const json = fc
  .jsonValue({ maxDepth: 4, stringUnit: 'grapheme' })
  .filter((value) => !JSON.stringify(value).includes('"__proto__":'))

type Proposed = Pick<ReturnType<typeof proposeEvent>, 'type'> & {
  readonly data: unknown
  readonly metadata: unknown
}

/** An event as the client returns it. */
const recordAs = ({ type, data, metadata }: Proposed, stream: string, isJson = true): StoredEvent => ({
  serverId: 'an attempt',
  stream,
  revision: 7,
  position: '12/12',
  type,
  data: JSON.parse(JSON.stringify(data)) as unknown,
  metadata: JSON.parse(JSON.stringify(metadata)) as unknown,
  isJson,
  created: '2025-01-01T00:00:00.123Z',
})

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
    fc.property(events, fc.uuid(), (event, attempt) => {
      const original = JSON.parse(JSON.stringify(event)) as NewEvent
      const [encoded] = validateAppend('s-1', [original], 'no-stream').events
      if (encoded === undefined) throw new Error('one event was encoded')
      const given = recordAs(proposeEvent(encoded, attempt), 's-1')
      const place = { stream: 's-1', revision: 7, position: '12/12', at: '2025-01-01T00:00:00.123Z' }
      expect(parseStored(given)).toEqual({ ...original, ...place })
    }),
    { numRuns: 200 },
  )
})

test("EventStoreDB's own events are none of ours; others without our metadata are refused", () => {
  const given = { id: randomUUID(), type: 'Foreign', data: {}, metadata: { id: 'x' } }
  expect(isEntry(recordAs({ ...given, type: '$metadata' }, '$$s-1'))).toBe(false)
  expect(isEntry(recordAs({ ...given, type: '$>' }, 's-1'))).toBe(false)
  const [encoded] = validateAppend('s-1', [anEvent()], 'no-stream').events
  if (encoded === undefined) throw new Error('one event was encoded')
  const own = proposeEvent(encoded, randomUUID())
  const foreign = [given, { ...given, metadata: '' }, { ...own, metadata: '{' }, { ...own, data: '{' }]
  for (const event of [...foreign.map((one) => recordAs(one, 's-1')), recordAs(own, 's-1', false)])
    expect(parseStored(event)).toBeUndefined()
  expect(parseStored(recordAs(own, 's-1'))).toBeDefined()
})

const storedMetadataSchema = z.object({
  id: z.uuid(),
  schema: z.int().positive(),
  at: z.iso.datetime().optional(),
  meta: eventMetaSchema,
})

test('metadata that is taken is what a schema lets pass, and what is written is so', () => {
  const written = {
    id: '019abcde-7c00-7001-8000-000000000001',
    attempt: '5f0c2d7e-91ab-4c34-a6d2-07e4b8139c55',
    schema: 1,
    meta: { correlationId: 'c', actor: 'a' },
    $correlationId: 'c',
  }
  expect(isSound(written)).toBe(true)
  expect(isSound({ ...written, at: '2026-11-22T12:00:00.007Z' })).toBe(true)
  expect(isSound({ ...written, at: '2026-02-30T12:00:00.007Z' })).toBe(false)
  expect(isSound({ ...written, meta: { ...written.meta, traceparent: '' } })).toBe(true)
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
      if (!isSound(metadata)) return
      expect(metadata).toMatchObject(storedMetadataSchema.parse(metadata))
    }),
    { numRuns: 2_000 },
  )
})
