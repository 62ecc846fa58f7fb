import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { inputFaults } from './input-faults.ts'

const schema = z.strictObject({
  coin: z.string(),
  timeframe: z.string().optional(),
  exchange: z.string().optional(),
  top_n: z.string().optional(),
  limit: z.coerce.number().int().optional(),
})
const problems = (sent: unknown): string[] =>
  inputFaults(schema.safeParse(sent).error?.issues ?? [], 'the arguments', 'this tool', schema).map(
    ({ field, problem }) => `${field} ${problem}`,
  )

describe('what is wrong with a request', () => {
  test.each([
    ['tf', 'tf is not a field of this tool; did you mean timeframe?'],
    ['timefrane', 'timefrane is not a field of this tool; did you mean timeframe?'],
    ['Exchange', 'Exchange is not a field of this tool; did you mean exchange?'],
    ['topn', 'topn is not a field of this tool; did you mean top_n?'],
    ['symbol', 'symbol is not a field of this tool'],
    ['e', 'e is not a field of this tool'],
    ['', ' is not a field of this tool'],
    ['__proto__x', '__proto__x is not a field of this tool'],
  ])('a field that there is not, %j, has a suggestion where one is near', (name, problem) =>
    expect(problems({ coin: 'BTC', [name]: '1h' })).toEqual([problem]),
  )

  test('says what is missing and what is no number', () => {
    expect(problems({ limit: 'abc' })).toEqual(['coin is missing', 'limit is not a number'])
    expect(problems({ coin: 'BTC', limit: '1.5' })).toEqual(['limit expected int, received number'])
  })

  test('is of the request as a whole where it is no object', () => {
    expect(problems('BTC')).toEqual(['the arguments expected object, received string'])
  })
})
