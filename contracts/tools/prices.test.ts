import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { microUsdcSchema } from '../domain/chain.ts'
import { PRICES, type Product, priceOf } from './prices.ts'
import { TOOLS } from './tool-catalogue.ts'

describe('priceOf', () => {
  test.each([
    ['1m', 50_000n],
    ['3m', 40_000n],
    ['5m', 30_000n],
    ['15m', 20_000n],
    ['1d', 20_000n],
  ])('a trade call for %s costs %s', (timeframe, price) => {
    expect(priceOf('get_trade_call', { coin: 'BTC', timeframe })).toBe(price)
  })

  test.each([' 1m', '1m ', '\t1m\n', '\u00a01m'])(
    'blanks around a timeframe (%j) do not make it cheaper: the tool does not see them',
    (timeframe) => {
      expect(TOOLS.get_trade_call.request.parse({ coin: 'BTC', timeframe })).toMatchObject({
        timeframe: '1m',
      })
      expect(priceOf('get_trade_call', { coin: 'BTC', timeframe })).toBe(50_000n)
    },
  )

  test.each([
    ['1m', '1min', '1 min', '1-minute', '01m', '1 minutes', '1Min', ' 1m '],
    ['3m', '3min', '3 minutes', '03m'],
    ['5m', '5Min', '05m', '5 minutes', '5-mins'],
  ])('%s costs the same in every way that the tool understands', (timeframe, ...ways) => {
    const price = priceOf('get_trade_call', { coin: 'BTC', timeframe })
    for (const way of ways) {
      const request = { coin: 'BTC', timeframe: way }
      expect(TOOLS.get_trade_call.request.parse(request), way).toMatchObject({ timeframe })
      expect(priceOf('get_trade_call', request), way).toBe(price)
    }
  })

  test('a timeframe costs what the one costs that the tool reads in it, however it is written', () => {
    const blanks = fc.constantFrom('', ' ', '\t', '\u00a0')
    const unit = fc.constantFrom('m', 'M', 'min', 'mins', 'Minute', 'minutes', 'h', 'hour', 'd', '')
    const number = fc.tuple(fc.constantFrom('', '0', '00'), fc.constantFrom('', '1', '3', '5', '15', '60'))
    const dash = fc.constantFrom('', ' ', '-')
    const written = fc.tuple(blanks, number, dash, unit, blanks).map((parts) => parts.flat().join(''))
    fc.assert(
      fc.property(written, (timeframe) => {
        const read = TOOLS.get_trade_call.request.safeParse({ coin: 'BTC', timeframe })
        fc.pre(read.success)
        expect(priceOf('get_trade_call', { timeframe })).toBe(priceOf('get_trade_call', read.data))
      }),
    )
  })

  test.each([
    'get_market_regime',
    'scan_trade_calls',
    'scan_funding_arb',
    'plans/starter',
    'plans/pro',
  ] as const)('%s costs the same for every timeframe', (product) => {
    expect(priceOf(product, { timeframe: '1m' })).toBe(PRICES[product])
  })

  test.each([
    undefined,
    null,
    '1m',
    ['1m'],
    {},
    { timeframe: ['1m'] },
    { timeframe: 1 },
    { timeframe: '1M' },
    { timeframe: '__proto__' },
    { timeframe: 'constructor' },
    { timeframe: 'toString' },
    JSON.parse('{"__proto__":{"timeframe":"1m"}}') as unknown,
  ])('what cannot be read (%j) costs the base price', (request) => {
    expect(priceOf('get_trade_call', request)).toBe(20_000n)
  })

  test('is never less than the base price, nor more than the premium, whatever is asked', () => {
    fc.assert(
      fc.property(fc.anything(), (request) => {
        const price = priceOf('get_trade_call', request)
        expect(price >= PRICES.get_trade_call && price <= 50_000n).toBe(true)
      }),
    )
  })
})

test('every tool has a price, and every price can be claimed', () => {
  for (const tool of Object.keys(TOOLS)) expect(PRICES[tool as Product]).toBeGreaterThan(0n)
  for (const price of Object.values(PRICES)) expect(microUsdcSchema.parse(String(price))).toBe(String(price))
})
