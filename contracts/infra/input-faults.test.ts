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
    ['timefrane', 'timefrane is not a field of this tool; did you mean timeframe?'],
    ['Exchange', 'Exchange is not a field of this tool; did you mean exchange?'],
    ['topn', 'topn is not a field of this tool; did you mean top_n?'],
    ['symbol', 'symbol is not a field of this tool'],
    ['leverage', 'leverage is not a field of this tool'],
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

  test('says what of a list was meant', () => {
    const call = z.object({ call: z.enum(['BUY', 'SELL', 'HOLD']), version: z.literal('2') })
    const said = (sent: unknown) =>
      inputFaults(call.safeParse(sent).error?.issues ?? [], 'body', 'this').map(({ problem }) => problem)
    const list = 'must be one of BUY, SELL, HOLD'
    expect(said({ call: 'buy', version: '2' })).toEqual([`${list}; did you mean BUY?`])
    expect(said({ call: 'SEL', version: '2' })).toEqual([`${list}; did you mean SELL?`])
    expect(said({ call: 7, version: '2' })).toEqual([list])
    expect(said({ version: '3' })).toEqual([expect.stringMatching(/^Invalid option/), expect.any(String)])
  })

  test('is of the request as a whole where it is no object', () => {
    expect(problems('BTC')).toEqual(['the arguments expected object, received string'])
  })
})
