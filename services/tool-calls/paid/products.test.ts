import { expect, test } from 'vitest'
import { CALLING_TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import { PAID_PRODUCTS } from './offers.ts'

test.each(['get_trade_call', 'scan_trade_calls'] as const)(
  'an offer of %s says where calls are made and where a HOLD is all there is, before anybody pays',
  (product) => {
    const { description, example } = PAID_PRODUCTS[product]
    expect(description).toContain(`Calls are made at ${CALLING_TIMEFRAMES.join(', ')}; at `)
    expect(description).toContain('the answer is always HOLD')
    expect(CALLING_TIMEFRAMES).toContain(example.request['timeframe'])
  },
)
