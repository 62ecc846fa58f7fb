import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TrackRecordAnswer } from '../../contracts/answers/track-record.ts'
import type { Verification } from '../../contracts/answers/verification.ts'
import type { RecordedEvent } from '../../contracts/infra/event.ts'
import { openEmbeddedStore } from '../../services/log/embedded/embedded-store.ts'
import { writeCandles } from '../../services/market/testing/candle-folder.ts'
import { freePort } from '../servers/server-port.ts'

const START = join(import.meta.dirname, '../../services/start.js')
const OPERATOR_TOKEN = 'operator-token-for-tests'
const SEALING_KEY = Buffer.alloc(32, 5).toString('base64')

let directory: string
let running: Running[]
/** `KILLS=100` kills more often. */
const KILLS = Number(process.env.KILLS ?? 6)
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'main-'))
  running = []
})
afterEach(async () => {
  for (const { child } of running) if (child.exitCode === null) child.kill('SIGKILL')
  await Promise.all(running.map(({ ended }) => ended))
  rmSync(directory, { recursive: true, force: true })
})

interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<{ code: number | null; out: string; err: string }>
  /** The output so far. */
  out(): string
  /** Waits until the output matches. */
  until(pattern: RegExp): Promise<RegExpExecArray>
  /** Waits until it has recorded so many verdicts. */
  untilVerdicts(count: number): Promise<void>
}

const SERVED_AT = /(http:\/\/127\.0\.0\.1:\d+)\/ +the board/

/** The service as a user starts it, with its own data folder and any free port. */
function start(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Running {
  const own = { '--port': '0', '--data-dir': join(directory, 'data') }
  const defaults = Object.entries(own).flatMap((flag) => (args.includes(flag[0]) ? [] : flag))
  const child = spawn(process.execPath, [START, ...defaults, ...args], {
    env: { PATH: process.env.PATH, FRESH: 'true', OPERATOR_TOKEN, SEALING_KEY, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  let isOver = false
  const heard = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    out += String(chunk)
    for (const hear of heard) hear()
  })
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    err += String(chunk)
  })
  const ended = once(child, 'close').then(() => {
    isOver = true
    for (const hear of heard) hear()
    return { code: child.exitCode, out, err }
  })
  /** Waits until the output satisfies; the process ending first is an error. */
  const untilOutput = <Found>(find: () => Found | undefined, what: string): Promise<Found> =>
    new Promise((resolve, reject) => {
      const hear = (): void => {
        const found = find()
        if (found === undefined && !isOver) return
        heard.delete(hear)
        if (found === undefined) reject(new Error(`ended without ${what}: ${out}${err}`))
        else resolve(found)
      }
      heard.add(hear)
      hear()
    })
  const until = (pattern: RegExp) => untilOutput(() => pattern.exec(out) ?? undefined, String(pattern))
  const untilVerdicts = async (count: number): Promise<void> => {
    const [, url = ''] = await until(SERVED_AT)
    while ((await recordedBy(url)) < count) await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const service = { child, ended, out: () => out, until, untilVerdicts }
  running.push(service)
  return service
}

const urlOf = async (service: Running): Promise<string> => (await service.until(SERVED_AT))[1] ?? ''

/** How many verdicts a process has recorded. */
async function recordedBy(url: string): Promise<number> {
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` }
  const metrics = await (await fetch(`${url}/metrics`, { headers })).text()
  const counts = metrics.matchAll(/^verdicts_recorded_total\{[^}]*\} (\d+)$/gm)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

/** How many series are on the board. */
const seriesOf = async (url: string): Promise<number> =>
  ((await (await fetch(`${url}/api/board?limit=1`)).json()) as { series: number }).series

async function rows(url: string, query = '', token = true): Promise<Record<string, unknown>[]> {
  const headers: Record<string, string> = token ? { authorization: `Bearer ${OPERATOR_TOKEN}` } : {}
  const text = await (await fetch(`${url}/api/verdicts${query}`, { headers })).text()
  return text === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** Every event of the log, read after the process has ended. */
async function logOf(market: string, data = 'data'): Promise<RecordedEvent[]> {
  const store = await openEmbeddedStore({ directory: join(directory, data, market), now: Date.now })
  const events: RecordedEvent[] = []
  for await (const event of store.readAll()) events.push(event)
  await store.close()
  return events
}

const verdictsOf = (events: readonly RecordedEvent[]): RecordedEvent[] =>
  events.filter((event) => event.type === 'VerdictRecorded')

const seriesAndBar = ({ stream, data }: RecordedEvent): string => `${stream} ${JSON.stringify(data.barClose)}`

const candles = (bars: number, change?: (lines: string[]) => void): string =>
  writeCandles({ directory, bars, from: Date.UTC(2024, 0, 1), change })

describe('npm start', () => {
  test('says what it runs on and where to go, and has the whole board at once', async () => {
    const healthPort = await freePort()
    const service = start(['--health-port', String(healthPort)])
    const url = await urlOf(service)
    await service.until(/simulated market [^]*embedded store in [^]*in-process\s+bus,\s+memory\s+cache/)
    expect(service.out()).toMatch(/^http:\S+\/ +the board/)
    while ((await seriesOf(url)) < 66) await new Promise((resolve) => setTimeout(resolve, 50))
    const all = await rows(url)
    // A minute may close meanwhile, and the first series have a second verdict then.
    expect(new Set(all.map((row) => `${String(row.coin)} ${String(row.timeframe)}`)).size).toBe(66)
    expect(await rows(url, '', false)).toEqual([])
    const ready = (await (
      await fetch(`${url}/readyz`, { headers: { authorization: `Bearer ${OPERATOR_TOKEN}` } })
    ).json()) as {
      status: string
      components: { name: string }[]
    }
    expect(ready.status).toBe('ready')
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: 'ready' })
    const atHealthPort = (await (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).json()) as typeof ready
    expect(atHealthPort.components.map(({ name }) => name)).toEqual(ready.components.map(({ name }) => name))
    expect(ready.components.map(({ name }) => name)).toEqual([
      'store',
      'bus',
      'cache',
      'projection accounts',
      'projection chats',
      'projection debits',
      'projection decided',
      'projection latest_verdicts',
      'projection log_checkpoints',
      'projection record_months',
      'projection regime_shifts',
      'projection sealed_days',
      'projection speech',
      'projection track_record',
      'projection verdict_index',
      'projection payments',
      'projection subscriptions',
      'projection transparency_tree',
      'market',
      'transparency log',
      'dispatcher',
    ])
    service.child.kill('SIGTERM')
    service.child.kill('SIGTERM')
    const { code, err } = await service.ended
    expect([code, err]).toEqual([0, ''])
  })

  test('stops with the shell that npm started it in', async () => {
    const shell = spawn(
      'sh',
      [
        '-c',
        `"${process.execPath}" "${START}" --port 0 --coins BTC --data-dir "${join(directory, 'data')}"; true`,
      ],
      {
        env: { PATH: process.env.PATH, FRESH: 'true', SEALING_KEY, npm_lifecycle_event: 'start' },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const [url] = await new Promise<string[]>((resolve) => {
      let out = ''
      shell.stdout.setEncoding('utf8').on('data', (chunk) => {
        out += String(chunk)
        const match = /http:[^ ]*\d(?=\/ )/.exec(out)
        if (match !== null) resolve([match[0]])
      })
    })
    shell.kill('SIGTERM')
    // Its end is that of its output, which the service shares.
    await once(shell, 'close')
    await expect(fetch(`${url}/livez`)).rejects.toThrow()
    await openEmbeddedStore({ directory: join(directory, 'data/simulated'), now: Date.now }).then((store) =>
      store.close(),
    )
  })

  test('at another speed goes on by the same market clock after a restart', async () => {
    const args = ['--speed', '1200', '--coins', 'BTC', '--timeframes', '1m,5m']
    const first = start(args)
    const url = await urlOf(first)
    await first.untilVerdicts(10)
    const shown = await rows(url, '?timeframe=1m')
    first.child.kill('SIGTERM')
    expect((await first.ended).code).toBe(0)
    const second = start(args)
    await second.untilVerdicts(1)
    second.child.kill('SIGTERM')
    await second.ended
    const bars = verdictsOf(await logOf('simulated')).filter(({ data }) => data.timeframe === '1m')
    const closes = bars.map(({ data }) => Number(data.barClose))
    expect(closes.length).toBeGreaterThan(shown.length)
    expect(closes).toEqual([...new Set(closes)].toSorted((a, b) => a - b))
  })

  test(
    'killed again and again under load, records every bar at most once and stays in order',
    async () => {
      for (let kill = 0; kill < KILLS; kill++) {
        const service = start(['--speed', '3000', '--coins', 'BTC,ETH', '--timeframes', '1m,3m,5m'])
        await service.untilVerdicts(12 + (kill % 6) * 9)
        service.child.kill('SIGKILL')
        await service.ended
      }
      const events = await logOf('simulated')
      const verdicts = verdictsOf(events)
      expect(new Set(verdicts.map(seriesAndBar)).size).toBe(verdicts.length)
      const outcomes = events.filter(({ type }) => type === 'OutcomeLabelled')
      const known = new Set<unknown>(verdicts.map(({ id }) => id))
      expect(outcomes.length).toBeGreaterThan(0)
      expect(new Set(outcomes.map(({ data }) => data.verdictId)).size).toBe(outcomes.length)
      expect(outcomes.filter(({ data }) => !known.has(data.verdictId))).toEqual([])
      const byStream = Map.groupBy(events, (event) => event.stream)
      for (const [stream, own] of byStream) {
        expect(
          own.map((event) => event.revision),
          stream,
        ).toEqual(own.map((_, index) => index))
        const closes = verdictsOf(own).map(({ data }) => Number(data.barClose))
        expect(closes, stream).toEqual(closes.toSorted((a, b) => a - b))
      }
      for (const [stream, own] of byStream) {
        const said = verdictsOf(own).map(({ data: { barClose, regime } }) => ({ barClose, regime }))
        expect(
          verdictsOf(own).map(({ data }) => data.previous),
          stream,
        ).toEqual([null, ...said.slice(0, -1)].slice(0, said.length))
      }
    },
    KILLS * 20_000,
  )
})

describe('a recorded market', () => {
  const replay = (...args: string[]): Running =>
    start(['--market', 'recorded', '--data', join(directory, 'binance-usdm'), ...args])

  test('is replayed with progress and a summary; again, it adds nothing', async () => {
    candles(700)
    const first = await replay('--exit-at-end', '--timeframes', '1h').ended
    expect([first.code, first.err]).toEqual([0, ''])
    expect(first.out).toMatch(/100 % {2}700 of 700 bars/)
    expect(first.out).toMatch(/The market has ended: 700 bars/)
    expect(first.out).toMatch(/201 verdicts recorded \(\d+ BUY, \d+ SELL, \d+ HOLD\)/)
    const second = await replay('--exit-at-end', '--timeframes', '1h').ended
    expect(second.out).toMatch(/0 verdicts recorded .* for 201 bars the log had this or a newer one/)
    expect(verdictsOf(await logOf('recorded'))).toHaveLength(201)
  })

  test('serves on after its end, and shows what has closed', async () => {
    candles(700)
    const service = replay('--timeframes', '1h')
    const url = await urlOf(service)
    await service.until(/Serving on/)
    const everything = await rows(url)
    expect(everything).toHaveLength(201)
    // Windows of eight bars: the last eight are still open where the data ends.
    expect(await rows(url, '', false)).toEqual(
      everything.slice(0, -8).map((row) => ({ ...row, cursor: expect.any(String) })),
    )
    const verdictId = String(everything[0]?.verdict_id)
    const proof = (await (await fetch(`${url}/verify/${verdictId}`)).json()) as Verification
    expect(proof.event.data.verdictId).toBe(verdictId)
    expect(proof.outcome?.event.data.verdictId).toBe(verdictId)
    // The read models follow the log a moment behind.
    await expect
      .poll(async () => {
        const record = (await (await fetch(`${url}/api/track-record`)).json()) as TrackRecordAnswer
        return record.rows.map(({ verdicts }) => verdicts)
      })
      .toEqual([201 - 8])
    service.child.kill('SIGINT')
    expect((await service.ended).code).toBe(0)
  })

  test('stopped half-way and resumed gives the log of one uninterrupted run, to the last bit', async () => {
    candles(900)
    const whole = await replay('--exit-at-end', '--data-dir', join(directory, 'whole')).ended
    const half = await replay('--exit-at-end', '--to', '2024-01-30').ended
    const rest = await replay('--exit-at-end').ended
    expect([whole.code, half.code, rest.code]).toEqual([0, 0, 0])
    const bySeries = (events: readonly RecordedEvent[]) =>
      Object.fromEntries(
        [
          ...Map.groupBy(
            events.filter(({ stream }) => /^(?:verdict|outcome)-/.test(stream)),
            ({ stream }) => stream,
          ),
        ].map(([stream, own]) => [
          stream,
          own.map(({ id, type, revision, data }) => ({ id, type, revision, data })),
        ]),
      )
    const [expected, actual] = [bySeries(await logOf('recorded', 'whole')), bySeries(await logOf('recorded'))]
    expect(Object.keys(expected)).toContain('verdict-BINANCE.BTC.1h')
    expect(expected['outcome-BINANCE.BTC.1h']).toHaveLength(401 - 8)
    expect(actual).toEqual(expected)
  })
})

describe('what keeps it from running is one message with an exit code', () => {
  async function refusal(args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
    const { code, err } = await start(['--console', 'off', ...args], environment).ended
    const lines = err.trimEnd().split('\n')
    expect(lines, err).toHaveLength(2)
    return { code, message: lines[0] ?? '', nextStep: lines[1] ?? '' }
  }
  const recorded = (folder: string): string[] => ['--market', 'recorded', '--data', folder, '--exit-at-end']

  test('a setting that cannot be read', async () => {
    const { code, message } = await refusal(['--timeframes', '7m'])
    expect(code).toBe(2)
    expect(message).toMatch(/^error config_invalid: --timeframes is "7m"/)
  })

  test('a data folder that cannot be one', async () => {
    writeFileSync(join(directory, 'file'), '')
    const { code, message } = await refusal(['--data-dir', join(directory, 'file')])
    expect([code, message]).toEqual([2, expect.stringContaining(join(directory, 'file'))])
  })

  test('an address that is not this machine’s', async () => {
    const { code, message } = await refusal(['--host', '203.0.113.1'])
    expect([code, message]).toEqual([2, expect.stringContaining('203.0.113.1')])
  })

  test('a folder that is missing, and one without data', async () => {
    const missing = await refusal(recorded(join(directory, 'nowhere')))
    expect([missing.code, missing.message]).toEqual([3, expect.stringContaining(join(directory, 'nowhere'))])
    mkdirSync(join(directory, 'empty'))
    const empty = await refusal(recorded(join(directory, 'empty')))
    expect([empty.code, empty.message]).toEqual([3, expect.stringContaining('market_data_missing')])
  })

  test.each([
    [
      'a damaged row',
      (lines: string[]) => void lines.splice(300, 1, `${lines[300]?.split(',')[0]},1,2,x,4,5`),
      /row 301|line 301/,
    ],
    [
      'an unknown column',
      (lines: string[]) => void lines.splice(0, 1, 'ts,open,high,low,close,turnover'),
      /turnover/,
    ],
    [
      'a row out of order',
      (lines: string[]) => void lines.splice(300, 2, lines[301] ?? '', lines[300] ?? ''),
      /row|line/,
    ],
  ])('%s', async (_name, damage, words) => {
    const { code, message } = await refusal(recorded(candles(700, damage)))
    expect(code).toBe(4)
    expect(message).toContain('BTCUSDT-1h.csv.gz')
    expect(message).toMatch(words)
  })

  test('a second process on the same store, which leaves the first alone', async () => {
    const first = start(['--coins', 'BTC'])
    const url = await urlOf(first)
    const { code, message } = await refusal(['--coins', 'BTC'])
    expect([code, message]).toEqual([7, expect.stringContaining('store_locked')])
    expect((await fetch(`${url}/livez`)).status).toBe(200)
  })

  test('a store of another market or another key', async () => {
    const first = start(['--coins', 'BTC'])
    await urlOf(first)
    first.child.kill('SIGTERM')
    await first.ended
    const seed = await refusal(['--seed', 'other'])
    expect([seed.code, seed.message]).toEqual([8, expect.stringContaining('seed')])
    const key = await refusal([], { SEALING_KEY: Buffer.alloc(32, 6).toString('base64') })
    expect([key.code, key.message]).toEqual([8, expect.stringContaining('another sealing key')])
  })

  test('a port that is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    const port = typeof address === 'object' ? String(address?.port) : ''
    const { code, message } = await refusal(['--port', port])
    taken.close()
    expect([code, message]).toEqual([10, expect.stringContaining(port)])
  })

  test.each([
    ['NATS', { NATS_URL: 'nats://me:hunter2@127.0.0.1:1' }],
    ['Redis', { REDIS_URL: 'redis://me:hunter2@127.0.0.1:1' }],
  ])('%s that is not there, without its password', async (name, environment) => {
    const { code, message } = await refusal([], environment)
    expect([code, message]).toEqual([
      9,
      expect.stringContaining(`dependency_unavailable: no connection to ${name}`),
    ])
    expect(message).not.toContain('hunter2')
  })
})
