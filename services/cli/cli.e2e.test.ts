import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { VerdictRow } from '../../contracts/answers/verdict-row.ts'
import { START } from '../../contracts/infra/position.ts'
import { replayVerdicts } from '../analyst/index.ts'
import { openEmbeddedStore } from '../log/embedded/embedded-store.ts'
import { writeCandles } from '../market/testing/candle-folder.ts'

const SERVICE = join(import.meta.dirname, '../start.js')
const COMMAND_LINE = join(import.meta.dirname, '../signal.js')
const OPERATOR_TOKEN = 'operator-token-for-tests'
const SEALING_KEY = Buffer.alloc(32, 5).toString('base64')

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** Waits until standard output matches. */
  until(pattern: RegExp): Promise<RegExpExecArray>
}

const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL')
})

function run(script: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): Running {
  const child = spawn(process.execPath, [script, ...args], {
    env: { PATH: process.env.PATH, FRESH: 'true', SEALING_KEY, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  let [out, err] = ['', '']
  const ended = Promise.withResolvers<Ended>()
  child.stdout.setEncoding('utf8').on('data', (chunk) => (out += String(chunk)))
  child.stderr.setEncoding('utf8').on('data', (chunk) => (err += String(chunk)))
  // The place comes first; only the start screen's test looks at it.
  child.once('close', (code) => ended.resolve({ code, out, err: err.replace(/^asking .*\n/, '') }))
  const until = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(out)
        if (match === null) return
        child.stdout.off('data', look)
        resolve(match)
      }
      child.stdout.on('data', look)
      child.once('close', () => reject(new Error(`ended without ${String(pattern)}: ${out}${err}`)))
      look()
    })
  return { child, ended: ended.promise, until }
}

/** One command, run to its end. */
const signal = (args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  run(COMMAND_LINE, args, environment).ended

const rowsOf = (text: string): VerdictRow[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as VerdictRow)
const idsOf = (rows: readonly VerdictRow[]): string[] => rows.map((row) => row.verdict_id)

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'cli-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

describe('the program', () => {
  test('writes help to standard output, and mistakes to standard error with their exit code', async () => {
    const [help, mistake, unreachable] = await Promise.all([
      signal(['help']),
      signal(['replay', '--colour', 'red']),
      signal(['replay', '--server', 'http://127.0.0.1:1']),
    ])
    expect(help).toMatchObject({ code: 0, err: '', out: expect.stringContaining('backtest') })
    expect(mistake).toMatchObject({ code: 2, out: '' })
    expect(mistake.err).toMatch(/^error config_invalid: There is no flag --colour\.[^\n]*\n[^\n]+\n$/)
    expect([unreachable.code, unreachable.err]).toEqual([
      14,
      expect.stringMatching(/^error server_unreachable: http:\/\/127.0.0.1:1 /m),
    ])
  })
})

describe('beside a running service, and after it', () => {
  let data: string
  let service: Running
  let url: string
  let everything: VerdictRow[]

  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), 'cli-service-'))
    const args = ['--port', '0', '--data-dir', data, '--coins', 'BTC,ETH', '--timeframes', '1h,4h']
    service = run(SERVICE, args, { OPERATOR_TOKEN })
    url = (await service.until(/(http:\/\/127\.0\.0\.1:\d+)\/ +the board/))[1] ?? ''
    const seriesOf = async () =>
      ((await (await fetch(`${url}/api/board?limit=1`)).json()) as { series: number }).series
    while ((await seriesOf()) < 4) await new Promise((resolve) => setTimeout(resolve, 50))
    everything = rowsOf((await signal(['replay', '--data-dir', data])).out)
  })
  afterAll(() => rmSync(data, { recursive: true, force: true }))

  test('through the owner’s socket everything is shown, without a token', () => {
    expect(new Set(everything.map(({ coin, timeframe }) => `${coin} ${timeframe}`)).size).toBe(4)
  })

  test('over --server only with the operator’s token', async () => {
    const at = ['replay', '--server', url]
    const [anybody, operator, variable, wrong] = await Promise.all([
      signal(at),
      signal([...at, '--operator-token', OPERATOR_TOKEN]),
      signal(at, { OPERATOR_TOKEN }),
      signal([...at, '--operator-token', 'some-other-token']),
    ])
    expect(anybody).toMatchObject({ code: 0, out: '', err: '' })
    expect(rowsOf(operator.out)).toEqual(everything)
    expect(rowsOf(variable.out)).toEqual(everything)
    expect([wrong.code, wrong.err]).toEqual([12, expect.stringMatching(/^error unauthorized: /)])
    expect(wrong.err).not.toContain('some-other-token')
  })

  test('filters and pages as the route does', async () => {
    const replay = async (...args: string[]) =>
      rowsOf((await signal(['replay', '--data-dir', data, ...args])).out)
    const strange = await signal(['replay', '--data-dir', data, '--coin', 'ETHH'])
    expect([strange.out, strange.err]).toEqual([
      '',
      expect.stringMatching(/^error unknown_coin: .*did you mean ETH\?/),
    ])
    expect(await replay('--coin', 'ETH')).toEqual(everything.filter(({ coin }) => coin === 'ETH'))
    expect(await replay('--timeframes', '4h')).toEqual(
      everything.filter(({ timeframe }) => timeframe === '4h'),
    )
    expect(await replay('--limit', '1')).toEqual(everything.slice(0, 1))
    expect(await replay('--after', everything[0]?.cursor ?? '')).toEqual(everything.slice(1))
  })

  test('exports files of every format, and says what it did', async () => {
    const file = (ending: string): string => join(directory, `verdicts.${ending}`)
    for (const [ending, format] of [
      ['ndjson', 'ndjson'],
      ['csv', 'csv'],
      ['parquet', 'parquet'],
    ] as const) {
      const { code, out, err } = await signal(['replay', '--data-dir', data, '--out', file(ending), '--json'])
      expect([code, JSON.parse(out)]).toEqual([
        0,
        {
          file: file(ending),
          format,
          rows: everything.length,
          bytes: readFileSync(file(ending)).length,
          cursor: everything.at(-1)?.cursor,
        },
      ])
      expect(err).toContain(`${everything.length} rows`)
    }
    expect(rowsOf(readFileSync(file('ndjson'), 'utf8'))).toEqual(everything)
    expect(readFileSync(file('csv'), 'utf8').trimEnd().split('\r\n')).toHaveLength(everything.length + 1)
    const bytes = new Uint8Array(readFileSync(file('parquet')))
    const read = await parquetReadObjects({ file: bytes.buffer })
    expect(read.map((row) => row.verdict_id)).toEqual(idsOf(everything))
  })

  test('a file that cannot be written is named, and nothing is left', async () => {
    const file = join(directory, 'nowhere', 'x.csv')
    const { code, err } = await signal(['replay', '--data-dir', data, '--out', file])
    expect([code, err]).toEqual([2, expect.stringContaining(`--out ${file} cannot be written`)])
    expect(readdirSync(directory)).toEqual([])
  })

  test('a reader that has enough ends it quietly', async () => {
    const script = `"${process.execPath}" "${COMMAND_LINE}" replay --data-dir "${data}" | head -c 20 >/dev/null; echo "\${PIPESTATUS[0]}"`
    const child = spawn('bash', ['-c', script], {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk) => (out += String(chunk)))
    child.stderr.on('data', (chunk) => (err += String(chunk)))
    await once(child, 'close')
    expect([out.trim(), err]).toEqual(['0', expect.stringMatching(/^asking \S+\n$/)])
  })

  test('verifies a verdict by its id, and refuses one that nobody recorded', async () => {
    const [first] = everything
    const at = ['--data-dir', data]
    const [shown, whole, unknown] = await Promise.all([
      signal(['verify', first?.verdict_id ?? '', ...at]),
      signal(['verify', first?.verdict_id.toUpperCase() ?? '', '--json', '--server', url]),
      signal(['verify', '5c146b14-3c52-8afd-938a-375d0df1fbf6', ...at]),
    ])
    expect([shown.code, shown.err]).toEqual([0, ''])
    expect(shown.out).toContain(`series    SIM ${first?.coin} ${first?.timeframe}`)
    expect(shown.out).toMatch(/^hash {6}[0-9a-f]{64} fits$/m)
    expect(JSON.parse(whole.out)).toMatchObject({ verdict_id: first?.verdict_id, outcome: null })
    expect([unknown.code, unknown.err]).toEqual([13, expect.stringMatching(/^error not_found: /)])

    // A verdict that does not fit its hash is a false proof, and no fault of the program.
    const changed = whole.out.replace(/"price":/, '"price":1')
    const liar = createServer((_, response) => void response.end(changed)).listen(0, '127.0.0.1')
    await once(liar, 'listening')
    const lie = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`
    const caught = await signal(['verify', first?.verdict_id ?? '', '--server', lie])
    liar.close()
    expect([caught.code, caught.err]).toEqual([17, expect.stringContaining('does not fit its hash')])
  })

  test('the doctor finds the service and its state', async () => {
    const { code, out } = await signal(['doctor', '--data-dir', data])
    expect(out).toMatch(/^ok {5}store +a service runs on it: ready/m)
    expect(code).toBe(0)
  })

  test('once it has stopped, a closed store is the doctor’s alone', async () => {
    service.child.kill('SIGTERM')
    expect((await service.ended).code).toBe(0)
    expect(existsSync(join(data, 'simulated', 'owner.sock'))).toBe(false)
    const [replayed, healthy, other] = [
      await signal(['replay', '--data-dir', data]),
      await signal(['doctor', '--data-dir', data]),
      await signal(['doctor', '--data-dir', data, '--seed', 'another', '--json']),
    ]
    expect([replayed.code, replayed.err]).toEqual([2, expect.stringContaining('no service runs on')])
    expect([healthy.code, healthy.out]).toEqual([0, expect.stringContaining('of this market and key')])
    expect(other.code).toBe(8)
    expect(JSON.parse(other.out)).toContainEqual(
      expect.objectContaining({ part: 'store', ok: false, code: 'store_mismatch' }),
    )
  })

  test('a store that somebody else has open is explained', async () => {
    const store = await openEmbeddedStore({ directory: join(data, 'simulated'), now: () => 0 })
    const examined = await signal(['doctor', '--data-dir', data])
    await store.close()
    expect([examined.code, examined.out]).toEqual([7, expect.stringMatching(/^fault {2}store /m)])
  })
})

/** Hours that no model was fitted on. */
const candles = (bars: number): string => writeCandles({ directory, bars, from: Date.UTC(2025, 7, 1) })

describe('backtest', () => {
  test('makes the verdicts of a recorded run, and says what they were worth and whether the model knew', async () => {
    const folder = candles(900)
    const file = join(directory, 'verdicts.ndjson')
    const args = ['--data', folder, '--coin', 'BTC', '--timeframe', '1h']
    const { code, out, err } = await signal(['backtest', ...args, '--out', file])
    expect(code, err).toBe(0)
    expect(out).toContain('401 verdicts, 8 of them without an outcome yet')
    expect(out).toContain('Out of sample: ')
    expect(out).toMatch(/^1h: 393 verdicts; within the range of four in five \d+\.\d % \[.*; \d+ calls/m)
    const data = join(directory, 'data')
    const recorded = ['--market', 'recorded', '--data-dir', data]
    const market = ['--data', folder, '--coins', 'BTC', '--timeframes', '1h', '--exit-at-end', '--port', '0']
    expect((await run(SERVICE, [...recorded, ...market]).ended).code).toBe(0)
    const store = await openEmbeddedStore({ directory: join(data, 'recorded'), now: Date.now })
    const replay = {
      filter: {},
      after: START,
      limit: 1_000,
      withOpen: true,
      signal: new AbortController().signal,
    }
    const replayed = await Array.fromAsync(replayVerdicts(store, replay))
    await store.close()
    const facts = (rows: readonly VerdictRow[]) =>
      rows.map((row) => ({ ...row, cursor: null, verdict_id: null, recorded_at: null }))
    const tested = rowsOf(readFileSync(file, 'utf8'))
    expect(facts(tested)).toEqual(facts(replayed))
    expect(tested.map(({ race }) => race === null)).toEqual(tested.map((_, n) => n >= 393))
    expect(idsOf(tested)).not.toEqual(idsOf(replayed))
  })

  test('gives the same verdicts and scores each time, as JSON where asked, of the period asked for', async () => {
    const folder = candles(900)
    const period = ['--from', '2025-08-25', '--to', '2025-09-01']
    const tested = async (file: string) => {
      const args = ['--data', folder, ...period, '--timeframes', '1h,4h', '--out', join(directory, file)]
      return JSON.parse((await signal(['backtest', ...args, '--json'])).out) as Record<string, unknown>
    }
    const [first, second] = [await tested('a.ndjson'), await tested('b.csv')]
    expect(second).toEqual(first)
    expect(first).toMatchObject({
      from: '2025-08-25T00:00:00.000Z',
      to: '2025-09-01T00:00:00.000Z',
      series: 2,
      fitted: 'out_of_sample',
      rows: [{ timeframe: '1h' }],
    })
    const rows = rowsOf(readFileSync(join(directory, 'a.ndjson'), 'utf8'))
    const csv = readFileSync(join(directory, 'b.csv'), 'utf8').trimEnd().split('\r\n').slice(1)
    expect(csv.map((line) => line.split(',').slice(0, 2))).toEqual(
      rows.map(({ cursor, verdict_id }) => [cursor, verdict_id]),
    )
  })

  test('says what is missing', async () => {
    const folder = candles(300)
    const [few, none] = await Promise.all([
      signal(['backtest', '--data', folder, '--timeframe', '1h']),
      signal(['backtest', '--data', join(directory, 'nowhere')]),
    ])
    expect([few.code, few.err]).toEqual([3, expect.stringContaining('500 closed bars')])
    expect([none.code, none.err]).toEqual([3, expect.stringContaining('nowhere')])
  })
})
