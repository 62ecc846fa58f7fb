import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { loadCommands } from './commands.ts'
import type { CommandContext } from './kit/command.ts'
import { beginSignal } from './kit/run-signal.fixture.ts'
import { INTERRUPTED } from './run-command.ts'

const COMMANDS = await loadCommands()

async function run(args: readonly string[], change: Partial<CommandContext> = {}) {
  const { written, done } = beginSignal(args, change)
  const code = await done
  return { code, out: written.out, err: written.err }
}

describe('help', () => {
  test('names every command, with or without being asked', async () => {
    const general = await run(['help'])
    expect(general).toMatchObject({ code: 0, err: '' })
    for (const { name, summary } of COMMANDS) expect(general.out).toMatch(new RegExp(`  ${name} +${summary}`))
    for (const args of [[], ['--help'], ['-h']]) expect(await run(args)).toEqual(general)
  })

  test('names the flags of a command, also where others are wrong', async () => {
    const { code, out } = await run(['help', 'replay'])
    expect([code, out]).toEqual([0, expect.stringContaining('--out …')])
    expect((await run(['replay', '--nonsense', '--help'])).out).toBe(out)
  })
})

test('--version writes the release', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }
  expect(await run(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' })
})

describe('a mistake', () => {
  test.each([
    [['repaly'], 'There is no command "repaly". Did you mean replay? Commands: ask, keys create'],
    [['help', 'repaly'], 'There is no command "repaly"'],
    [['replay', '--colour', 'red'], 'There is no flag --colour. See: npm run -s signal -- help replay'],
    [['replay', 'BTC'], 'replay takes flags only, not "BTC"'],
    [['replay', '--coin', 'b$c'], '--coin is "b$c"'],
    [['replay', '--coins', 'BTC', '--coin', 'ETH'], '--coins and --coin are the same flag'],
    [['replay', '--limit', '0'], '--limit is "0"'],
    [['replay', '--format', 'parquet'], '--format parquet needs a file'],
    [['replay', '--from', '2025-01-02', '--to', '2025-01-01'], '--from: must be before to'],
    [['replay', '--from', '2025-01-02T00:00'], 'has no zone: add Z, as in 2025-01-02T00:00Z'],
    [['replay', '--out', 'v.csv', '--as-of', '2025-01-02T00:00'], 'has no zone: add Z'],
    [['backtest', '--data', '.', '--to', '2025-01-02T00:00'], 'has no zone: add Z'],
    [['replay', '--server', 'localhost:8402'], '--server is "localhost:8402"'],
    [['replay', '--data-dir', 'nowhere/at/all'], 'no service runs on nowhere/at/all/simulated'],
    [['replay', '--out', 'verdicts.xlsx'], '--out "verdicts.xlsx" does not end in .ndjson, .csv, .parquet'],
    [['backtest'], 'MARKET_DATA (--data) names no folder'],
    [['backtest', '--data', '.', '--from', '2025-01-02', '--to', '2025-01-01'], '--from: must be before'],
    [['verify'], 'verify takes <verdict_id_or_proof>'],
    [['verify', '42'], 'verdict_id is "42"'],
    [['doctor', '--port', 'x'], '--port is "x"'],
  ])('%j ends with 2 and says what there is', async (args, words) => {
    const { code, out, err } = await run(args)
    expect([code, out]).toEqual([2, ''])
    expect(err.replace(/^asking .*\n/, '').split('\n')).toHaveLength(3)
    expect(err).toMatch(/^(?:asking .*\n)?error config_invalid: /)
    expect(err).toContain(words)
  })

  test('in a variable is named as the variable it is', async () => {
    const { code, err } = await run(['replay'], { environment: { MARKET: 'lunar' } })
    expect([code, err]).toEqual([2, expect.stringContaining('MARKET is "lunar"')])
  })
})

describe('an end', () => {
  test('by Ctrl-C is 130, whatever the command says', async () => {
    const signal = AbortSignal.abort()
    expect(await run(['help'], { signal })).toMatchObject({ code: INTERRUPTED })
    expect(await run(['repaly'], { signal })).toMatchObject({ code: INTERRUPTED, err: '' })
  })
})
