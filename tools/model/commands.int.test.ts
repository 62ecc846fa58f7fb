import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors.ts'
import { TIMEFRAMES } from '../../contracts/timeframes.ts'
import type { VerdictModelData } from '../../services/engine/model.ts'
import { describeHistory } from './describe-history.ts'
import { evaluateCommand } from './evaluate-command.ts'
import { type FitPorts, fitCommand } from './fit-command.ts'
import { plantedMarket } from './planted-market.fixture.ts'
import type { DataSelection } from './read-histories.ts'
import type { SeriesHistory } from './series-history.ts'

const market = plantedMarket(1, 8_000, 1)
const older = { ...market, bars: market.bars.slice(0, 4_500) }

const UNWRITABLE = '/nowhere/m.json'

function absent(path: string): never {
  throw new Error(`ENOENT: ${path}`)
}

async function run(
  command: (args: readonly string[], ports: FitPorts) => Promise<number>,
  args: readonly string[],
  histories: readonly SeriesHistory[] = [market],
  files: Readonly<Record<string, string>> = {},
) {
  const out: string[] = []
  const reported: string[] = []
  const written = new Map<string, string>()
  const selections: DataSelection[] = []
  const code = await command(args, {
    async *histories(selection, { used }) {
      await Promise.resolve()
      selections.push(selection)
      const wanted = histories.filter(({ series }) => selection.timeframes.includes(series.timeframe))
      for (const history of wanted) used(describeHistory(history) ?? expect.fail('A history has no bars.'))
      yield* wanted
    },
    out: (text) => out.push(text),
    report: (line) => reported.push(line),
    readText: (path) => files[path] ?? absent(path),
    async writeFile(path, chunks) {
      if (path === UNWRITABLE)
        throw new ServiceError('config_invalid', { message: `${path} cannot be written` })
      for await (const chunk of chunks) written.set(path, chunk)
    },
  })
  return { code, out: out.join(''), reported: reported.join('\n'), written, selections }
}

const parsed = (text: string): VerdictModelData => JSON.parse(text) as VerdictModelData

describe('arguments that cannot be used end with exit code 2 and the usage', () => {
  test.each([
    [fitCommand, [], '--data <folder> is missing'],
    [fitCommand, ['--data', 'd', '--speed', '3'], '--speed'],
    [fitCommand, ['--data', 'd', '--until', 'soon'], '--until soon is not a date'],
    [fitCommand, ['--data', 'd', '--version', 'Mine 7'], '--version Mine 7 is no version'],
    [evaluateCommand, ['--data', 'd', 'more'], 'more'],
    [evaluateCommand, ['--data', 'd', '--in-sample'], '--in-sample goes with --model'],
    [evaluateCommand, ['--data', 'd', '--timeframes', '7h'], '--timeframes 7h is not known; known are 1m'],
    [evaluateCommand, ['--data', 'd', '--exchanges', 'MOON'], '--exchanges MOON is not known'],
  ])('%o %j', async (command, args, words) => {
    const { code, out, reported } = await run(command, args)
    expect([code, out]).toEqual([2, ''])
    expect(reported).toContain(words)
    expect(reported).toContain('\n  npm run ')
  })
})

describe('fit', () => {
  test('prints the model, or writes it where it is told, and the progress elsewhere', async () => {
    const printed = await run(fitCommand, [
      '--data',
      'd',
      '--data',
      'e',
      '--coins',
      'btc',
      '--exchanges',
      'SIM',
    ])
    expect(printed.code).toBe(0)
    expect(printed.selections).toEqual([
      { folders: ['d', 'e'], timeframes: TIMEFRAMES, coins: ['BTC'], exchanges: ['SIM'] },
      // Offsets and hours are of the newest days, up to 1h.
      { folders: ['d', 'e'], timeframes: TIMEFRAMES.slice(0, 6), coins: ['BTC'], exchanges: ['SIM'] },
    ])
    expect(parsed(printed.out)).toMatchObject({ version: 'barrier-5', timeframes: { '1h': { skill: true } } })
    expect(printed.reported).toContain('SIM.BTC.1h from 1970-01-01: 8000 bars')
    const kept = await run(fitCommand, ['--data', 'd', '--out', 'm.json', '--version', 'mine-7'])
    expect(kept.out).toBe('')
    expect(parsed(kept.written.get('m.json') ?? '').version).toBe('mine-7')
  })
})

test('a model that cannot be written is told of before it is fitted', async () => {
  const { code, reported } = await run(fitCommand, ['--data', 'd', '--out', UNWRITABLE])
  expect(code).toBe(2)
  expect(reported).toContain(`error config_invalid: ${UNWRITABLE} cannot be written`)
  expect(reported).not.toContain('SIM.BTC.1h')
})

describe('evaluate', () => {
  test('scores a timeframe once, however often it is named', async () => {
    const { out } = await run(evaluateCommand, ['--data', 'd', '--timeframes', '1h,1h', '--json'])
    expect((JSON.parse(out) as { timeframes: unknown[] }).timeframes).toHaveLength(1)
  })

  test('walks the recipe forward, as text or as JSON', async () => {
    const text = await run(evaluateCommand, ['--data', 'd', '--timeframes', '1h'])
    expect(text.out).toContain('every forecast is by a fit that had not seen its bar')
    expect(text.out).toContain('Targets at 1h, all series:')
    const json = await run(evaluateCommand, ['--data', 'd', '--timeframes', '1h', '--json'])
    const { kind, timeframes, targets } = JSON.parse(json.out) as Record<string, unknown[]>
    expect(kind).toBe('walk-forward')
    expect([timeframes?.length, targets?.length]).toEqual([1, 6])
  })

  test('scores a model file on what came after it was fitted', async () => {
    const model = (await run(fitCommand, ['--data', 'd'], [older])).out
    const files = { 'm.json': model }
    const { to } = parsed(model).provenance
    const args = ['--data', 'd', '--timeframes', '1h', '--model', 'm.json', '--json']
    const later = JSON.parse((await run(evaluateCommand, args, [market], files)).out) as {
      readonly outOfSample: { readonly timeframes: readonly { readonly all: { readonly from: number } }[] }
      readonly inSample?: unknown
    }
    expect(later.outOfSample.timeframes[0]?.all.from).toBe(to)
    expect(later.inSample).toBeUndefined()
  })

  test('refuses to score a model on what it was fitted on, unless asked, and then says so', async () => {
    const files = { 'm.json': (await run(fitCommand, ['--data', 'd'], [older])).out, 'n.json': 'no model' }
    const args = ['--data', 'd', '--timeframes', '1h', '--model', 'm.json']
    const refused = await run(evaluateCommand, args, [older], files)
    expect([refused.code, refused.out]).toEqual([3, ''])
    expect(refused.reported).toContain('no bar of this data with a finished race is later')
    const asked = await run(evaluateCommand, [...args, '--in-sample'], [older], files)
    expect(asked.code).toBe(0)
    expect(asked.out).toContain('IN SAMPLE: model barrier-5')
    const wrong = await run(evaluateCommand, ['--data', 'd', '--model', 'n.json'], [older], files)
    expect(wrong.code).toBe(2)
    expect(wrong.reported).toContain('The model file n.json cannot be read: ')
    const missing = await run(evaluateCommand, ['--data', 'd', '--model', 'o.json'], [older], files)
    expect(missing.code).toBe(2)
    expect(missing.reported).toContain('The model file o.json cannot be read: ENOENT')
  })
})
