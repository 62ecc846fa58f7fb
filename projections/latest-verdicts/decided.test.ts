import { expect, test } from 'vitest'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { fold, given, outcomeLabelled } from '../given-events.fixture.ts'
import { decided } from './latest-verdicts.ts'

const at = (hour: number) => ({ barClose: hour * HOUR_MS, validUntil: (hour + 8) * HOUR_MS })

test('given nothing decided, there is no row', () => {
  expect(fold(decided, given())).toEqual({})
})

test('given outcomes in the order in which races ended, the newest bar stands, and the newest call beside it', () => {
  const rows = fold(
    decided,
    given(
      outcomeLabelled({ ...at(2), call: 'BUY', race: 'up' }),
      outcomeLabelled({ ...at(4), call: 'HOLD' }),
      outcomeLabelled({ ...at(3), call: 'SELL', race: 'up' }),
      outcomeLabelled({ ...at(1), call: 'BUY', race: 'down' }),
      outcomeLabelled({ ...at(5), call: 'BUY', race: 'up', recordedLate: true }),
      outcomeLabelled({ ...at(1), coin: 'ETH' }),
    ),
  )
  expect(rows['SIM.BTC.1h']).toMatchObject({
    newest: { barClose: at(5).barClose },
    newestCall: { barClose: at(3).barClose, call: 'SELL' },
  })
  expect(rows['SIM.ETH.1h']).toMatchObject({ newest: at(1), newestCall: null })
})
