import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { aVerdict } from '../../contracts/domain/verdict.fixture.ts'
import { createConsole } from './console.ts'

function consoleThatIs(isOn: boolean, { showReasoning = false } = {}) {
  const output = new PassThrough({ encoding: 'utf8' })
  const CONSOLE = !isOn ? 'off' : showReasoning ? 'reasons' : 'verdicts'
  const settings = { CONSOLE, MARKET: 'live', MARKET_SPEED: undefined } as const
  const terminal = createConsole(settings as never, output)
  return { terminal, text: () => String(output.read() ?? '') }
}

describe('lines for people', () => {
  test('that are turned off leave one: where the service is', () => {
    const { terminal, text } = consoleThatIs(false)
    terminal.banner(['what runs', 'where to go'], 'signal-service at http://127.0.0.1:1')
    terminal.summary(['it is over'])
    terminal.progress({ barsDone: 1, barsTotal: 2 }, 1)
    expect(text()).toBe('signal-service at http://127.0.0.1:1\n')
  })

  test('that are turned off are none where nothing is served', () => {
    const { terminal, text } = consoleThatIs(false)
    terminal.banner(['what runs'], undefined)
    expect(text()).toBe('')
  })

  test('that are on begin with all of it', () => {
    const { terminal, text } = consoleThatIs(true)
    terminal.banner(['what runs', 'where to go'], 'signal-service at http://127.0.0.1:1')
    expect(text()).toBe('what runs\nwhere to go\n')
  })

  test('are calls, and nothing of a HOLD', () => {
    const { terminal, text } = consoleThatIs(true)
    terminal.verdicts([aVerdict({ coin: 'ETH' }), aVerdict({ call: 'BUY' }), aVerdict({ coin: 'XRP' })])
    expect(text()).toMatch(/^.*SIM BTC 1h          BUY .*\n$/)
    terminal.verdicts([aVerdict(), aVerdict({ coin: 'ETH' })])
    expect(text()).toBe('')
  })

  test('are one of at most 80 columns for a call, and its sentence where it is asked for', () => {
    const call = aVerdict({ call: 'SELL', regime: 'TRENDING_DOWN', coin: 'DOGE', timeframe: '15m' })
    const { terminal, text } = consoleThatIs(true)
    terminal.verdicts([call])
    const [row = '', ...others] = text().trimEnd().split('\n')
    expect([row.length <= 80, others]).toEqual([true, []])
    const talking = consoleThatIs(true, { showReasoning: true })
    talking.terminal.verdicts([call])
    expect(talking.text()).toBe(`${row}\n  ${call.reasoning}\n`)
  })
})

test('progress is told twenty times, and the end once', () => {
  const { terminal, text } = consoleThatIs(true)
  for (let barsDone = 0; barsDone <= 1_000; barsDone++)
    terminal.progress({ barsDone, barsTotal: 1_000 }, barsDone)
  const lines = text().trimEnd().split('\n')
  expect([lines.length, lines[0], lines.at(-1)]).toEqual([
    21,
    '0 %  0 of 1,000 bars, 0 verdicts',
    '100 %  1,000 of 1,000 bars, 1,000 verdicts',
  ])
})
