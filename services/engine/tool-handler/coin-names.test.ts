import { describe, expect, test } from 'vitest'
import { bareCoin } from './find-series.ts'

describe('bareCoin', () => {
  test.each([
    ['BTCUSDT', 'BTC'],
    ['BTC-USDT', 'BTC'],
    ['BTC/USDT', 'BTC'],
    ['BTC_USDC', 'BTC'],
    ['BTC-PERP', 'BTC'],
    ['BTC/USDT:USDT', 'BTC'],
    ['BTC-USDT-SWAP', 'BTC'],
    ['1000PEPEUSDT', '1000PEPE'],
    ['BTCUSD', 'BTC'],
  ])('%s is %s', (symbol, coin) => expect(bareCoin(symbol)).toBe(coin))

  test.each(['BTC', 'USDT', 'BTC-EUR', 'BTC-', '', '-USDT-BTC'])('%j has nothing appended', (symbol) =>
    expect(bareCoin(symbol)).toBeUndefined(),
  )
})
