import { describe, expect, test } from 'vitest'
import { canonicalTimeframe } from '../domain/common-names.ts'
import { TIMEFRAMES } from '../domain/timeframes.ts'
import { coinParameter, exchangeParameter, rowsParameter, timeframeParameter } from './parameters.ts'

describe('what a caller names', () => {
  test.each([
    ['btc', 'BTC'],
    [' 1000pepe ', '1000PEPE'],
  ])('%j is the coin %s', (given, coin) => expect(coinParameter.parse(given)).toBe(coin))

  test.each(['', '$', 'BTC-USDT', 'A'.repeat(21)])(
    '%j is no coin, and is refused without a pattern',
    (given) => {
      const message = coinParameter.safeParse(given).error?.issues[0]?.message ?? ''
      expect(message).toContain('coin symbol')
      expect(message).not.toMatch(/[\\^$/]/)
    },
  )

  test.each(TIMEFRAMES)('%s is itself, and its capital where that means nothing else', (timeframe) => {
    expect(canonicalTimeframe(timeframe)).toBe(timeframe)
    const upper = timeframe.toUpperCase()
    expect(canonicalTimeframe(upper)).toBe(timeframe.endsWith('m') ? upper : timeframe)
    expect(timeframeParameter.safeParse(upper).success).toBe(!timeframe.endsWith('m'))
  })

  test('an exchange is taken in either case', () => {
    expect(exchangeParameter.parse('sim')).toBe('SIM')
    expect(exchangeParameter.safeParse('NASDAQ').error?.issues[0]?.message).toContain('BINANCE')
    expect(exchangeParameter.safeParse('binanc').error?.issues[0]?.message).toMatch(/did you mean BINANCE\?$/)
  })

  test.each(['abc', '1.5', 'NaN', ''])('%j rows are no whole number from 1 on', (given) => {
    const message = rowsParameter(10).safeParse(given).error?.issues[0]?.message
    expect(message).toMatch(given === '' ? /1/ : /^must be a whole number$/)
  })
})
