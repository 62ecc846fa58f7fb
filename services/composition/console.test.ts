import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { aVerdict } from '../../contracts/verdict.fixture.ts'
import { createConsole } from './console.ts'

function consoleThatIs(isOn: boolean) {
  const output = new PassThrough({ encoding: 'utf8' })
  const people = createConsole({
    isOn,
    showVerdicts: true,
    output: output as unknown as NodeJS.WriteStream,
    now: () => 0,
  })
  return { people, text: () => String(output.read() ?? '') }
}

describe('lines for people', () => {
  test('that are turned off leave one: where the service is', () => {
    const { people, text } = consoleThatIs(false)
    people.banner(['what runs', 'where to go'], 'signal-service at http://127.0.0.1:1')
    people.summary(['it is over'])
    people.progress({ barsDone: 1, barsTotal: 2 }, 1)
    expect(text()).toBe('signal-service at http://127.0.0.1:1\n')
  })

  test('that are turned off are none where nothing is served', () => {
    const { people, text } = consoleThatIs(false)
    people.banner(['what runs'], undefined)
    expect(text()).toBe('')
  })

  test('that are on begin with all of it', () => {
    const { people, text } = consoleThatIs(true)
    people.banner(['what runs', 'where to go'], 'signal-service at http://127.0.0.1:1')
    expect(text()).toBe('what runs\nwhere to go\n')
  })

  test('are calls, and series that go back to HOLD; every other HOLD is counted', () => {
    const { people, text } = consoleThatIs(true)
    people.verdicts([aVerdict({ coin: 'ETH' }), aVerdict({ call: 'BUY' }), aVerdict({ coin: 'XRP' })])
    const lines = text().trimEnd().split('\n')
    expect(lines).toHaveLength(2)
    expect(lines[0]).toContain('SIM BTC 1h          BUY ')
    expect(lines[1]).toMatch(/^2 verdicts said HOLD/)
    people.verdicts([aVerdict(), aVerdict({ coin: 'ETH' })])
    expect(text()).toMatch(/^.*SIM BTC 1h          HOLD .*\n$/)
  })
})
