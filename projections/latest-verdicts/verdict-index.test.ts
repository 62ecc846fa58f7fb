import { expect, test } from 'vitest'
import { fold, given, verdictRecorded } from '../given-events.fixture.ts'
import { verdictIndex } from './latest-verdicts.ts'

test('given verdicts, every verdict is to be found by its id', () => {
  const [first, second] = ['0190a000-0000-8000-8000-00000000000a', '0190a000-0000-8000-8000-00000000000b']
  const events = given(
    verdictRecorded({ verdictId: first }),
    verdictRecorded({ verdictId: second, coin: 'ETH', timeframe: '4h' }),
  )
  expect(fold(verdictIndex, events)).toEqual({
    [first]: { series: 'SIM.BTC.1h', revision: 0 },
    [second]: { series: 'SIM.ETH.4h', revision: 1 },
  })
})
