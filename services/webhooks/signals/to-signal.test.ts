import { expect, test } from 'vitest'
import { aFilter, aSignalLog } from './testing/signal-log.fixture.ts'
import { SIGNAL_EVENTS, toSignals } from './to-signals.ts'

test('a verdict that says BUY or SELL is a signal, one that says HOLD is none; a shift is one in either case', async () => {
  const world = aSignalLog()
  await world.verdict({ call: 'BUY' })
  await world.verdict({ call: 'SELL' })
  await world.verdict({ call: 'HOLD', regime: 'VOLATILE' }, 'RANGING')
  await world.universe('SIM', ['BTC'])
  await world.subscribe(1, aFilter())
  await world.digest('SIM', '1h', '1d', 2)
  const events = world.events()
  expect(events.map((event) => toSignals(event).map(({ type }) => type))).toEqual([
    ['trade_call'],
    ['trade_call'],
    ['regime_shift'],
    [],
    [],
    ['scan_digest'],
  ])
  const types: readonly string[] = SIGNAL_EVENTS
  for (const event of events.filter(({ type }) => !types.includes(type))) expect(toSignals(event)).toEqual([])
})

test('a signal tells where its event stands and what it is about', async () => {
  const world = aSignalLog()
  await world.verdict({ call: 'HOLD', exchange: 'HL', coin: 'SOL', timeframe: '4h' })
  const event = await world.verdict({ call: 'SELL', exchange: 'HL', coin: 'SOL', timeframe: '4h' })
  expect(toSignals(event)).toEqual([
    {
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
    },
  ])
})

test('a verdict that says two things has two signals, each with a place and an id of its own', async () => {
  const world = aSignalLog()
  await world.verdict({ call: 'HOLD' })
  const event = await world.verdict({ call: 'BUY', regime: 'VOLATILE', confidence: 54 }, 'RANGING')
  const [call, shift, ...more] = toSignals(event)
  expect(more).toEqual([])
  expect(call).toMatchObject({ type: 'trade_call', position: '2!', eventId: event.id, revision: 1 })
  expect(shift).toMatchObject({ type: 'regime_shift', position: '2', revision: 1 })
  expect(shift?.eventId).not.toBe(event.id)
  expect(toSignals(event)[1]?.eventId).toBe(shift?.eventId)
  expect(shift?.data).toMatchObject({ regime: 'VOLATILE', priorRegime: 'RANGING', confidence: 54 })
})
