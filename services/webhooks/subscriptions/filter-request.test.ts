import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { EXCHANGES } from '../../../contracts/domain/series.ts'
import { CADENCES, SIGNAL_TYPES, subscriptionFilterSchema } from '../../../contracts/domain/subscription.ts'
import { TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { changeFilter, filterFields, readFilter, toFilterFields } from './filter-request.ts'
import { filterWarnings } from './filter-warnings.ts'

const DIGEST = { timeframe: '1h', exchange: 'HL', top_n: 10, cadence: '4h' } as const

const requests = fc
  .record({
    events: fc.uniqueArray(fc.constantFrom(...SIGNAL_TYPES), { minLength: 1 }),
    timeframes: fc.option(fc.uniqueArray(fc.constantFrom(...TIMEFRAMES), { minLength: 1 })),
    assets: fc.option(
      fc.uniqueArray(fc.constantFrom('BTC', '1000PEPE', 'top:1', 'top:100'), { minLength: 1 }),
    ),
    exchanges: fc.option(fc.uniqueArray(fc.constantFrom(...EXCHANGES), { minLength: 1 })),
    min_confidence: fc.option(fc.integer({ min: 0, max: 100 })),
    only_changes: fc.option(fc.boolean()),
    cadence: fc.constantFrom(...CADENCES),
  })
  .map(({ cadence, ...request }) =>
    request.events.includes('scan_digest') ? { ...request, ...DIGEST, cadence } : request,
  )

describe('a filter', () => {
  test('is one that the log takes, and comes back in the fields it was asked for with', () => {
    const schema = z.strictObject(filterFields)
    fc.assert(
      fc.property(requests, (request) => {
        const filter = readFilter(schema.parse(request))
        expect(subscriptionFilterSchema.parse(filter)).toEqual(filter)
        const fields = toFilterFields(filter)
        expect(fields).toMatchObject(
          Object.fromEntries(Object.entries(request).filter(([, value]) => value !== null)),
        )
        expect(readFilter(schema.parse(fields))).toEqual(filter)
      }),
    )
  })

  test('takes timeframes and coins as people write them', () => {
    const asked = { events: ['trade_call'], timeframes: ['60m', 'Daily'], assets: ['bitcoin'] }
    const { timeframes, assets } = readFilter(z.strictObject(filterFields).parse(asked))
    expect({ timeframes, assets }).toEqual({ timeframes: ['1h', '1d'], assets: ['BTC'] })
    expect(
      z.strictObject(filterFields).safeParse({ ...asked, timeframes: ['1h', '60'] }).error?.message,
    ).toContain('twice')
  })

  test.each([
    [
      'scan_digest without its fields',
      { events: ['scan_digest'] },
      ['timeframe', 'exchange', 'top_n', 'cadence'],
    ],
    ['one of them missing', { events: ['scan_digest'], ...DIGEST, cadence: null }, ['cadence']],
    ['its fields without scan_digest', { events: ['trade_call'], ...DIGEST }, Object.keys(DIGEST)],
    ['one of them alone', { events: ['trade_call'], top_n: 5 }, ['top_n']],
  ] as const)('with %s is refused, and the fields are named', (_name, request, fields) => {
    try {
      readFilter(request as never)
      expect.fail('it was taken')
    } catch (error) {
      expect(error).toBeInstanceOf(ServiceError)
      const { code, message, details } = error as ServiceError
      expect(code).toBe('invalid_request')
      expect(details).toMatchObject({ fields: fields.map((field) => ({ field })) })
      for (const field of fields) expect(message).toContain(`${field}: `)
    }
  })

  test('changes in the fields that are given, to what was not asked for by null', () => {
    const filter = readFilter({ events: ['trade_call'], timeframes: ['1h'], min_strength: 70 })
    expect(changeFilter(filter, {})).toEqual(filter)
    expect(changeFilter(filter, { timeframes: null, only_changes: true })).toEqual({
      ...filter,
      timeframes: null,
      onlyChanges: true,
    })
    expect(() => changeFilter(filter, { events: ['scan_digest'] })).toThrow(/timeframe: is needed/)
    const digest = changeFilter(filter, { events: ['trade_call', 'scan_digest'], ...DIGEST })
    expect(digest.digest).toEqual({ timeframe: '1h', exchange: 'HL', topN: 10, cadence: '4h' })
    expect(changeFilter(digest, { top_n: 20 }).digest?.topN).toBe(20)
    expect(changeFilter(digest, { events: ['trade_call'] })).toEqual(filter)
    expect(() => changeFilter(digest, { cadence: null })).toThrow(/cadence: is needed/)
  })
})

describe('warnings', () => {
  const coverage = {
    highestConfidence: 60,
    silentTimeframes: ['1d'],
    exchanges: ['SIM', 'HL'],
    coins: new Set(['BTC', 'DOGE']),
  } as const
  const warningsOf = (request: Parameters<typeof readFilter>[0]) =>
    filterWarnings(readFilter(request), coverage).map((warning) => warning.split(':')[0])

  test.each([
    [{ events: ['trade_call'], min_confidence: 60 }, []],
    [{ events: ['trade_call'], min_confidence: 61 }, ['min_confidence']],
    [{ events: ['regime_shift'], min_confidence: 75 }, ['min_confidence']],
    [{ events: ['trade_call'], timeframes: ['1h', '1d'] }, ['timeframes']],
    [{ events: ['regime_shift'], timeframes: ['1d'] }, []],
    [{ events: ['trade_call'], exchanges: ['SIM', 'XT'] }, ['exchanges']],
    [{ events: ['regime_shift'], min_strength: 5 }, ['min_strength, only_changes']],
    [{ events: ['scan_digest'], ...DIGEST }, []],
    [{ events: ['scan_digest'], ...DIGEST, timeframe: '1d', exchange: 'XT' }, ['timeframe', 'exchange']],
    [
      { events: ['scan_digest'], ...DIGEST, assets: ['BTC'] },
      ['timeframes, assets, exchanges, min_confidence'],
    ],
  ] as const)('of %j are %j', (request, expected) => {
    expect(warningsOf(request as never)).toEqual(expected)
  })

  test('name a coin that nobody here monitors, and the one that was meant', () => {
    const filter = readFilter({ events: ['trade_call'], assets: ['BTC', 'DOGEE', 'top:3'] })
    expect(filterWarnings(filter, coverage)).toEqual([
      'assets: DOGEE is not monitored here, so nothing of it is sent; did you mean DOGE?',
    ])
    expect(filterWarnings(filter, { ...coverage, coins: new Set() })).toEqual([])
  })

  test('say nothing of exchanges where it is not known which are monitored', () => {
    const filter = readFilter({ events: ['trade_call'], exchanges: ['XT'] })
    expect(filterWarnings(filter, { ...coverage, exchanges: undefined })).toEqual([])
  })
})
