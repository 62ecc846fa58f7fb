import { describe, expect, it } from 'vitest'
import type { Exchange } from '../../../contracts/domain/series.ts'
import { readRecordingName } from './recording.ts'

const read = (folder: string, file: string, exchange?: Exchange) =>
  readRecordingName(`/data/${folder}/${file}`, folder, `${folder}/${file}`, exchange)

describe('readRecordingName', () => {
  it.each([
    ['binance-usdm', 'BTCUSDT-1h.csv.gz', 'BINANCE', 'BTC', '1h', false],
    ['binance-usdm', '1000PEPEUSDT-1h.csv', 'BINANCE', '1000PEPE', '1h', false],
    ['binance-usdm', 'BTCUSDT-funding-2025q2.csv.gz', 'BINANCE', 'BTC', 'funding', false],
    ['okx-swap', 'BTCUSDT-5m.b.csv.gz', 'OKX', 'BTC', '5m', false],
    ['binance-spot', 'SOLUSDT-1h.csv.gz', 'BINANCE', 'SOL', '1h', true],
    ['hyperliquid', 'BTC-12h.csv.gz', 'HL', 'BTC', '12h', false],
    ['multi-8h', 'okx-ETHUSDT-8h.csv.gz', 'OKX', 'ETH', '8h', false],
    ['multi-8h', 'bybit-ETHUSDT-funding.csv.gz', 'BYBIT', 'ETH', 'funding', false],
    ['funding', 'gate-BTC.csv.gz', 'GATE', 'BTC', 'funding', false],
    ['bybit', 'ETHUSDC-5m.csv', 'BYBIT', 'ETH', '5m', false],
    ['kraken-files', 'xt-BTCUSD-1d.csv', 'XT', 'BTC', '1d', false],
  ])('%s/%s is %s %s %s', (folder, file, exchange, coin, content, isSpot) => {
    expect(read(folder, file)).toMatchObject({ market: { exchange, coin }, content, isSpot })
  })

  it('takes the exchange it is told where folder and name do not say one', () => {
    expect(read('my-candles', 'BTCUSDT-1h.csv', 'BITGET')).toMatchObject({ market: { exchange: 'BITGET' } })
    expect(read('okx', 'BTCUSDT-1h.csv', 'BITGET')).toMatchObject({ market: { exchange: 'OKX' } })
  })

  it.each([
    ['binance-usdm', 'BTCUSDT-1h-mark.csv.gz', 'mark prices'],
    ['binance-spot', 'BTCUSDT-15m.taker.csv.gz', 'order flow'],
    ['funding', 'dydx-BTC.csv.gz', '"dydx" is not an exchange'],
    ['my-candles', 'BTCUSDT-1h.csv', 'folder "my-candles" is not an exchange'],
    ['binance', 'BTCUSDT-7m.csv', '"7m" is not one of'],
    ['binance', 'BTCUSDT.csv', 'is not one of'],
    ['binance', 'btcusdt.csv', 'not of the form'],
    ['binance', 'Binance_BTCUSDT_1h.csv', 'not of the form'],
    ['binance', 'AVERYLONGCOINNAMEWITHOUTEND-1h.csv', 'too long'],
  ])('does not use %s/%s, and says why', (folder, file, reason) => {
    expect(read(folder, file)).toMatchObject({
      name: `${folder}/${file}`,
      reason: expect.stringContaining(reason),
    })
  })
})
