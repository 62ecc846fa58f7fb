import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { aVerdict } from '../domain/verdict.fixture.ts'
import { ServiceError } from '../errors/errors.ts'
import type { RecordedEvent } from '../infra/event.ts'
import type { JsonObject } from '../infra/json.ts'
import { VerdictRecorded } from './event-catalogue.ts'
import { defineEvent, newEvent, upcast } from './event-definition.ts'

const trainData = z.object({
  station: z.string().min(1),
  delayMs: z.int().nonnegative(),
  platform: z.string().nullable(),
})

/** Schema 1 counted minutes, schema 2 milliseconds, schema 3 knows the platform. */
const TrainDeparted = defineEvent('TrainDeparted', 'train-{number}', {
  schema: 3,
  summary: 'A train left a station.',
  data: trainData,
  upcast({ minutesLate, ...data }, from) {
    const delay = from === 1 ? { delayMs: Number(minutesLate) * 60_000 } : {}
    return { ...data, ...delay, platform: null }
  },
})

const recorded = (schema: number, data: JsonObject): RecordedEvent => ({
  id: '0190a000-0000-7000-8000-000000000001',
  stream: 'train-12',
  revision: 4,
  position: '17',
  type: 'TrainDeparted',
  schema,
  at: '2025-01-01T00:00:00.000Z',
  data,
  meta: { correlationId: 'c1', actor: 'test' },
})

function refusal(work: () => unknown): ServiceError {
  try {
    work()
  } catch (error) {
    if (error instanceof ServiceError) return error
    throw error
  }
  throw new Error('expected a refusal')
}

test('a later schema needs a way from the former ones', () => {
  const { upcast: _none, type, stream, ...described } = TrainDeparted
  expect(() => defineEvent(type, stream, described)).toThrow('nothing brings data of a schema before 3 to it')
})

describe('newEvent', () => {
  const id = '0190a000-0000-7000-8000-000000000001'
  const meta = { correlationId: 'c1', causationId: 'request-1', actor: 'test' }
  const data = { station: 'Ulm', delayMs: 0, platform: null }

  test('writes the current schema and leaves id and meta as they are', () => {
    expect(newEvent(TrainDeparted, { id, data, meta })).toEqual({
      id,
      type: 'TrainDeparted',
      schema: 3,
      data,
      meta,
    })
  })

  test('keeps what the schema names and nothing beside it', () => {
    const event = newEvent(TrainDeparted, { id, data: { ...data, apiKey: 'secret' } as typeof data, meta })
    expect(event.data).toEqual(data)
  })

  const [factor = { name: 'reversal', value: 0, contribution: 0, status: 'measured' as const }] =
    aVerdict().factors
  test.each([
    ['coin', aVerdict({ coin: 'btc' })],
    ['confidence', aVerdict({ confidence: 50.5 })],
    ['probability', aVerdict({ probability: 1 })],
    ['inputsHash', aVerdict({ inputsHash: 'AB'.repeat(32) })],
    ['price', aVerdict({ price: Infinity })],
    ['factors.1.contribution', aVerdict({ factors: [factor, { ...factor, contribution: Number.NaN }] })],
  ])('refuses bad data and names the field: %s', (field, verdict) => {
    const error = refusal(() => newEvent(VerdictRecorded, { id, data: verdict, meta }))
    expect(error.code).toBe('event_invalid')
    expect(error.message).toMatch(new RegExp(`^VerdictRecorded at ${field}: \\S`))
  })

  test('names the whole where no single field is at fault', () => {
    const definition = defineEvent('TrainDeparted', 'train-{number}', {
      summary: 'A train left a station.',
      data: trainData.refine((train) => train.platform !== null, 'a train leaves from a platform'),
    })
    const error = refusal(() => newEvent(definition, { id, data, meta }))
    expect(error.message).toBe('TrainDeparted at $: a train leaves from a platform')
  })
})

describe('upcast', () => {
  const current = { station: 'Ulm', delayMs: 180_000, platform: null }

  test.each([
    [1, { station: 'Ulm', minutesLate: 3 }],
    [2, { station: 'Ulm', delayMs: 180_000 }],
    [3, current],
  ])('brings schema %d to the current one and changes nothing around the data', (schema, data) => {
    const event = recorded(schema, data)
    expect(upcast(event, TrainDeparted)).toEqual({ ...event, schema: 3, data: current })
  })

  test('leaves the recorded event as it was', () => {
    const event = recorded(1, Object.freeze({ station: 'Ulm', minutesLate: 3 }))
    const before = structuredClone(event)
    upcast(Object.freeze(event), TrainDeparted)
    expect(event).toEqual(before)
  })

  test('hands on a current event itself, unchecked: it was checked before it was appended', () => {
    const event = recorded(3, { anything: true })
    expect(upcast(event, TrainDeparted)).toBe(event)
  })

  test.each([4, 99, 0, -1, 1.5])('refuses schema %d, which this release does not know', (schema) => {
    const error = refusal(() => upcast(recorded(schema, current), TrainDeparted))
    expect(error.code).toBe('event_unreadable')
    expect(error.message).toContain('TrainDeparted at position 17')
    expect(error.message).toContain(`schema ${schema}`)
  })

  test('refuses what the way makes of former data when it does not fit the current schema', () => {
    const error = refusal(() => upcast(recorded(1, { station: '', minutesLate: 3 }), TrainDeparted))
    expect(error.code).toBe('event_unreadable')
    expect(error.message).toBe('TrainDeparted at position 17 cannot be brought from schema 1 to 3')
    expect(error.cause).toBeInstanceOf(z.ZodError)
  })

  test('refuses an event at which the way fails, and keeps why', () => {
    const fault = new RangeError('no such station')
    const definition = {
      ...TrainDeparted,
      upcast: () => {
        throw fault
      },
    }
    const error = refusal(() => upcast(recorded(1, { station: 'Ulm', minutesLate: 3 }), definition))
    expect(error.code).toBe('event_unreadable')
    expect(error.message).toBe('TrainDeparted at position 17 cannot be brought from schema 1 to 3')
    expect(error.cause).toBe(fault)
  })
})
