import { PassThrough, Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { aVerdict } from '../../contracts/verdict.fixture.ts'
import { createConsole } from './console.ts'
import { Screen } from './terminal-screen.fixture.ts'

function consoleThatIs(isOn: boolean, { showReasoning = false } = {}) {
  const output = new PassThrough({ encoding: 'utf8' })
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
    expect(lines[1]).toMatch(/^verdicts that said HOLD: 2;/)
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
})

/** A console on a terminal, and what others write there. */
function onTerminal(rows: number, options: { readonly showReasoning?: boolean } = {}) {
  const screen = new Screen(rows)
  const output = Object.assign(
    new Writable({
      decodeStrings: false,
      write(text: string, _, done) {
        screen.write(text)
        done()
      },
    }),
    { isTTY: true, rows, columns: 80 },
  )
  const terminal = createConsole({
    isOn: true,
    showVerdicts: true,
    output: output as unknown as NodeJS.WriteStream,
    now: () => 0,
    ...options,
  })
  return { terminal, screen, output }
}

describe('on a terminal', () => {
  const buy = (coin: string, price: number) => aVerdict({ coin, call: 'BUY', price })
  const rowOf = (screen: Screen, coin: string) =>
    screen.shown.findIndex((line) => line.includes(`SIM ${coin} `))

  test('each call has one row, which changes in its place, below all that scrolls', () => {
    const { terminal, screen } = onTerminal(24)
    terminal.banner(['what runs', ''], undefined, ['where to go'])
    terminal.verdicts([buy('BTC', 1), buy('ETH', 2), aVerdict({ coin: 'XRP' })])
    const [btc, eth] = [rowOf(screen, 'BTC'), rowOf(screen, 'ETH')]
    expect(screen.shown.slice(12, 15)).toEqual(['where to go', expect.any(String), expect.any(String)])
    expect([btc, eth, screen.shown[23]?.slice(0, 24) ?? '']).toEqual([13, 14, ''])
    expect(screen.shown.findIndex((line) => line.startsWith('verdicts that said HOLD: 1;'))).toBe(15)
    // Lines of other writers stay, such as the log and sign-in codes.
    for (let line = 0; line < 20; line++) {
      screen.write(`of another ${line}\n`)
      terminal.verdicts([buy('BTC', 100 + line)])
    }
    expect(screen.shown.slice(0, 11)).toEqual(Array.from({ length: 11 }, (_, at) => `of another ${9 + at}`))
    expect(screen.gone).toContain('of another 8')
    expect([rowOf(screen, 'BTC'), rowOf(screen, 'ETH')]).toEqual([btc, eth])
    expect(screen.shown[btc]).toMatch(/BUY .* 119$/)
    expect(screen.shown.join('\n').split('SIM BTC')).toHaveLength(2)
    terminal.verdicts([aVerdict({ coin: 'BTC' })])
    expect([rowOf(screen, 'BTC'), rowOf(screen, 'ETH')]).toEqual([-1, btc])
  })

  test('very many calls leave room for what scrolls, and the latest are shown', () => {
    const { terminal, screen } = onTerminal(10)
    terminal.banner([], undefined, ['where to go'])
    const coins = Array.from({ length: 30 }, (_, at) => `C${at}`)
    terminal.verdicts(coins.map((coin) => buy(coin, 1)))
    expect(screen.shown.slice(5).map((line) => /SIM C\d+/.exec(line)?.[0] ?? line.slice(0, 23))).toEqual([
      'where to go',
      'SIM C27',
      'SIM C28',
      'SIM C29',
      '27 more calls on the bo',
    ])
  })

  test('another size is followed, and at the end the last rows stand among the lines', () => {
    const { terminal, screen, output } = onTerminal(12)
    terminal.banner(['what runs'], undefined, ['where to go'])
    terminal.verdicts([buy('BTC', 1)])
    const wider = new Screen(20)
    Object.assign(output, { rows: 20, columns: 30, _write: undefined })
    Object.assign(output, {
      write: (text: string) => (wider.write(text), true),
    })
    output.emit('resize')
    expect(wider.shown.slice(10, 12)).toEqual(['where to go', '2025-01-01 00:00  SIM BTC 1h'])
    terminal.summary(['it is over'])
    wider.write('^C')
    terminal.close()
    wider.write('$ ')
    expect(wider.shown.slice(0, 6)).toEqual([
      'it is over',
      'where to go',
      expect.stringContaining('SIM BTC'),
      '',
      '$',
      '',
    ])
    terminal.close()
    expect(screen.shown[0]).toBe('what runs')
  })

  test('who asks for the sentences has them as lines, too', () => {
    const { terminal, screen } = onTerminal(20, { showReasoning: true })
    const call = buy('BTC', 1)
    terminal.verdicts([call])
    expect(screen.shown.slice(0, 2)).toEqual([expect.stringContaining('SIM BTC'), `  ${call.reasoning}`])
  })
})
