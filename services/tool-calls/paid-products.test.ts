import { expect, test } from 'vitest'
import { SPOKEN_TIMEFRAMES } from '../../contracts/spoken-timeframes.ts'
import { PAID_PRODUCTS } from './paid-products.ts'

test.each(['get_trade_call', 'scan_trade_calls'] as const)(
  'an offer of %s says where calls are made and where a HOLD is all there is, before anybody pays',
  (product) => {
    const { description, example } = PAID_PRODUCTS[product]
    expect(description).toContain(`Calls are made at ${SPOKEN_TIMEFRAMES.join(', ')}; at `)
    expect(description).toContain('the answer is always HOLD')
    expect(SPOKEN_TIMEFRAMES).toContain(example.request['timeframe'])
  },
)
