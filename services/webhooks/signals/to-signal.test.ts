import { expect, test } from 'vitest'
import { aFilter, aSignalLog } from './testing/signal-log.fixture.ts'
import { SIGNAL_EVENTS, toSignal } from './to-signal.ts'

test('a verdict that says BUY or SELL is a signal, one that says HOLD is none; its shift is one in either case', async () => {
  const world = aSignalLog()
  await world.verdict({ call: 'BUY' })
  await world.verdict({ call: 'SELL' })
  await world.verdict({ call: 'HOLD', regime: 'VOLATILE' }, 'RANGING')
  await world.universe('SIM', ['BTC'])
  await world.subscribe(1, aFilter())
  await world.digest('SIM', '1h', '1d', 2)
  const events = world.events()
  expect(events.map(toSignal).map((signal) => signal?.type)).toEqual([
    'trade_call',
    'trade_call',
    undefined,
    'regime_shift',
    undefined,
    undefined,
    'scan_digest',
  ])
  const types: readonly string[] = SIGNAL_EVENTS
  for (const event of events.filter(({ type }) => !types.includes(type)))
    expect(toSignal(event)).toBeUndefined()
})

test('a signal tells where its event stands and what it is about', async () => {
  const world = aSignalLog()
  await world.verdict({ call: 'HOLD', exchange: 'HL', coin: 'SOL', timeframe: '4h' })
  const event = await world.verdict({ call: 'SELL', exchange: 'HL', coin: 'SOL', timeframe: '4h' })
  expect(toSignal(event)).toEqual({
    type: 'trade_call',
    eventId: event.id,
    position: '2',
    stream: 'verdict-HL.SOL.4h',
    revision: 1,
    at: Date.parse(event.at),
    exchange: 'HL',
    timeframe: '4h',
    coin: 'SOL',
    barClose: event.type === 'VerdictRecorded' ? event.data.barClose : 0,
    data: event.data,
  })
})
