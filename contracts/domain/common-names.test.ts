import { describe, expect, test } from 'vitest'
import { timeframeParameter } from '../answers/parameters.ts'
import { TOOLS } from '../tools/tool-catalogue.ts'
import { canonicalTimeframe, coinOfName } from './common-names.ts'

describe('a coin by its name', () => {
  test.each([
    ['Bitcoin', 'BTC'],
    ['ETHEREUM', 'ETH'],
    ['solana', 'SOL'],
    ['XBT', 'BTC'],
    [' xrp ', 'XRP'],
    ['constructor', 'CONSTRUCTOR'],
    ['__proto__', '__PROTO__'],
  ])('%j is %s', (given, coin) => {
    expect(coinOfName(given)).toBe(coin)
    expect(TOOLS.get_trade_call.request.parse({ coin: given }).coin).toBe(coin)
  })
})

describe('a timeframe as people write it', () => {
  test.each([
    ['60m', '1h'],
    ['1 hour', '1h'],
    ['daily', '1d'],
    ['D', '1d'],
    ['240', '4h'],
    ['15', '15m'],
    ['24h', '1d'],
    ['30 minutes', '30m'],
    ['1-day', '1d'],
  ])('%j is %s', (given, timeframe) => {
    expect(canonicalTimeframe(given)).toBe(timeframe)
    expect(timeframeParameter.parse(given)).toBe(timeframe)
    expect(TOOLS.get_trade_call.request.parse({ coin: 'BTC', timeframe: given }).timeframe).toBe(timeframe)
  })

  test.each(['1M', 'M', 'm', '4', '1', '7m', '90', '', '0h', '1w', 'hours ago', '99999d'])(
    '%j stays as it is: it is none, or could be several',
    (given) => expect(canonicalTimeframe(given)).toBe(given),
  )

  test.each([
    ['1M', '1m'],
    ['15M', '15m'],
    ['7m', undefined],
  ])('for %j the suggestion is %s', (given, meant) => {
    const message = timeframeParameter.safeParse(given).error?.issues[0]?.message
    expect(message).toMatch(meant === undefined ? /1d$/ : new RegExp(`did you mean ${meant}\\?$`))
  })
})
