import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ServiceError } from '../errors/errors.ts'
import { toolArguments } from './tool-arguments.ts'

const schema = z.strictObject({
  coin: z.string().min(1),
  timeframe: z.string().min(1).default('1h'),
  limit: z.int().min(1).max(50).default(10),
  share: z.number().optional(),
  include_factors: z.boolean().default(true),
  coins: z.array(z.string()).optional(),
  label: z.string().max(10).nullable().optional(),
})
const read = (sent: unknown) => toolArguments('a_tool', schema, sent)
const plain = read({ coin: 'BTC' })

describe('an optional argument', () => {
  test.each(['timeframe', 'limit', 'share', 'include_factors', 'coins'])('%s is left out by null', (name) => {
    expect(read({ coin: 'BTC', [name]: null })).toEqual(plain)
  })

  test.each(['timeframe', 'limit', 'share', 'include_factors', 'coins'])('%s is left out by ""', (name) => {
    expect(read({ coin: 'BTC', [name]: '' })).toEqual(plain)
  })

  test('whose schema knows null or empty text has that', () => {
    expect(read({ coin: 'BTC', label: null }).label).toBe(null)
    expect(read({ coin: 'BTC', label: '' }).label).toBe('')
  })
})

test('all arguments may be left out by null where none is needed', () => {
  const request = z.strictObject({ after: z.string().min(1).optional() })
  for (const sent of [null, undefined, {}]) expect(toolArguments('a_tool', request, sent)).toEqual({})
})

test.each([
  [{ limit: '5' }, { limit: 5 }],
  [{ share: '-0.25' }, { share: -0.25 }],
  [{ include_factors: 'false' }, { include_factors: false }],
  [{ coins: '["BTC", "ETH"]' }, { coins: ['BTC', 'ETH'] }],
  [{ coin: '5' }, { coin: '5' }],
  [{ label: 'true' }, { label: 'true' }],
])('text that spells what the schema takes is read: %j', (sent, expected) => {
  expect(read({ coin: 'BTC', ...sent })).toMatchObject(expected)
})

test.each([
  [{ coin: null }, 'coin'],
  [{ coin: '' }, 'coin'],
  [{}, 'coin'],
  [null, 'coin'],
  ['{"coin":"BTC"}', 'the arguments'],
  [[], 'the arguments'],
  [{ coin: 'BTC', limit: 'five' }, 'limit'],
  [{ coin: 'BTC', limit: '0x5' }, 'limit'],
  [{ coin: 'BTC', limit: '1e1' }, 'limit'],
  [{ coin: 'BTC', limit: '99' }, 'limit'],
  [{ coin: 'BTC', limit: true }, 'limit'],
  [{ coin: 'BTC', include_factors: 'no' }, 'include_factors'],
  [{ coin: 'BTC', coins: '["BTC"' }, 'coins'],
  [{ coin: 'BTC', coins: '[7]' }, 'coins'],
  [{ coin: 'BTC', leverage: null }, 'leverage'],
  [JSON.parse('{"coin":"BTC","__proto__":null}'), '__proto__'],
  [JSON.parse('{"coin":"BTC","constructor":""}'), 'constructor'],
])('anything else is refused by the name of the argument: %j', (sent, field) => {
  try {
    expect(read(sent)).toBe('refused')
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    expect([error.code, error.details]).toMatchObject(['invalid_request', { fields: [{ field }] }])
    expect(error.message).not.toMatch(/Too small|expected string to have/)
  }
})
