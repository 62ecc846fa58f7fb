import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { aVerdict } from '../../contracts/verdict.fixture.ts'
import { createConsole } from './console.ts'

function consoleThatIs(isOn: boolean, { showReasoning = false, rows = 0 } = {}) {
  const output = Object.assign(new PassThrough({ encoding: 'utf8' }), rows > 0 ? { isTTY: true, rows } : {})
  const terminal = createConsole({
    isOn,
    showVerdicts: true,
    showReasoning,
    output: output as unknown as NodeJS.WriteStream,
    now: () => 0,
  })
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

  test('are calls, and series that go back to HOLD; every other HOLD is counted', () => {
    const { terminal, text } = consoleThatIs(true)
    terminal.verdicts([aVerdict({ coin: 'ETH' }), aVerdict({ call: 'BUY' }), aVerdict({ coin: 'XRP' })])
    const lines = text().trimEnd().split('\n')
    expect(lines).toHaveLength(2)
    expect(lines[0]).toContain('SIM BTC 1h          BUY ')
    expect(lines[1]).toMatch(/^2 verdicts said HOLD/)
    terminal.verdicts([aVerdict(), aVerdict({ coin: 'ETH' })])
    expect(text()).toMatch(/^.*SIM BTC 1h          HOLD .*\n$/)
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

  test('bring the header again before it scrolls out of a terminal', () => {
    const { terminal, text } = consoleThatIs(true, { rows: 10 })
    terminal.banner(['what runs'], undefined, ['where to go'])
    const calls = Array.from({ length: 20 }, (_, index) => aVerdict({ call: 'BUY', barClose: index }))
    terminal.verdicts(calls)
    const lines = text().trimEnd().split('\n')
    const at = lines.flatMap((line, index) => (line === 'where to go' ? [index] : []))
    expect(at).toEqual([9, 18])
  })
})
