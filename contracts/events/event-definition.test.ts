import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { aVerdict } from '../domain/verdict.fixture.ts'
import { ServiceError } from '../errors/errors.ts'
import { VerdictRecorded } from './event-catalogue.ts'
import { defineEvent, newEvent } from './event-definition.ts'

const trainData = z.object({
  station: z.string().min(1),
  delayMs: z.int().nonnegative(),
  platform: z.string().nullable(),
})

const TrainDeparted = defineEvent('TrainDeparted', 'train-{number}', {
  summary: 'A train left a station.',
  data: trainData,
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

describe('newEvent', () => {
  const id = '0190a000-0000-7000-8000-000000000001'
  const meta = { correlationId: 'c1', causationId: 'request-1', actor: 'test' }
  const data = { station: 'Ulm', delayMs: 0, platform: null }

  test('writes the current schema and leaves id and meta as they are', () => {
    expect(newEvent(TrainDeparted, { id, data, meta })).toEqual({
      id,
      type: 'TrainDeparted',
      schema: 1,
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
