import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { timeframeMs } from '../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { runSignal } from '../cli/kit/run-signal.fixture.ts'
import { readSettings } from '../runtime/config/read-settings.ts'
import { type RunningService, startService } from './start-service.ts'

const OPERATOR_TOKEN = 'operator-token-of-this-test'
const ENVIRONMENT = {
  OPERATOR_TOKEN,
  COINS: 'BTC,ETH',
  TIMEFRAMES: '1m,15m,1h,1d',
  MARKET_SPEED: '600',
  LOG_LEVEL: 'error',
}
const SERIES = 8

const folder = mkdtempSync(join(tmpdir(), 'past-'))
let service: RunningService | undefined

afterEach(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface Row {
  readonly coin: string
  readonly timeframe: '1m' | '15m' | '1h' | '1d'
  readonly bar_close: string
  readonly recorded_late: boolean
}

const textOf = async (path: string): Promise<string> => (await fetch(`${service?.url}${path}`)).text()
const rowsOf = async (): Promise<readonly Row[]> =>
  (await textOf('/api/verdicts?format=ndjson&limit=100000'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row)

/** The newest bars of the past are recorded after they were computed. */
async function rowsUntil(most: number): Promise<readonly Row[]> {
  for (;;) {
    const rows = await rowsOf()
    if (rows.length >= most) return rows
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function start(): Promise<void> {
  const flags = ['--port', '0', '--data-dir', folder, '--console', 'off']
  service = await startService(readSettings(flags, ENVIRONMENT), process.stdout)
}

const CALL = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'get_trade_call', arguments: { coin: 'ETH', timeframe: '15m' } },
  }),
}

async function past(): Promise<{ computed: number; of: number } | null | undefined> {
  const answer = await fetch(`${service?.url}/readyz`, {
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}` },
  })
  const { components } = (await answer.json()) as { components: { name: string; more?: { past: null } }[] }
  return answer.ok ? components.find(({ name }) => name === 'market')?.more?.past : undefined
}

/** A call is answered while the past of other series is still to come; then that one has come, too. */
async function untilTheWholePast(): Promise<void> {
  const answer = await (await fetch(`${service?.url}/mcp`, CALL)).text()
  const [id] = /(?<=verdict_id\W+)[0-9a-f-]{36}/.exec(answer) ?? []
  expect((await fetch(`${service?.url}/verify/${id}`)).status).toBe(200)
  while ((await past()) !== null) await new Promise((resolve) => setTimeout(resolve, 50))
}

/** Bars between one verdict of a series and the next that have none. */
const missing = (rows: readonly Row[]): number =>
  [...Map.groupBy(rows, ({ coin, timeframe }) => `${coin} ${timeframe}`).values()]
    .flatMap((own) =>
      own.slice(1).map((row, index) => {
        const passed = Date.parse(row.bar_close) - Date.parse(own[index]?.bar_close ?? '')
        return passed / timeframeMs(row.timeframe) - 1
      }),
    )
    .reduce((sum, bars) => sum + bars, 0)

test('a first start records a past in the order of time, and a later one what passed between', async () => {
  await start()
  const before = await past()
  await untilTheWholePast()
  expect(before).not.toBeNull()
  const first = await rowsUntil(SERIES * (LIMITS.runBars - 30))
  // The newest windows are still open.
  expect(first.length).toBeGreaterThan(SERIES * (LIMITS.runBars - 30))
  expect(missing(first)).toBe(0)
  expect(first.filter((row) => row.recorded_late)).toEqual([])
  const { rows } = JSON.parse(await textOf('/api/track-record')) as {
    rows: { timeframe: string; verdicts: number }[]
  }
  for (const timeframe of ['1m', '15m', '1h', '1d'])
    expect(rows.find((row) => row.timeframe === timeframe)?.verdicts).toBeGreaterThan(100)

  const [vkey = ''] = (await textOf('/log/vkeys')).split('\n')
  const audit = await runSignal(
    'audit',
    service?.url ?? '',
    '--vkey',
    vkey,
    '--state',
    join(folder, 'audit.json'),
  )
  expect(audit.said).toContain('nothing: the log holds together')

  await service?.stop()
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  await start()
  await untilTheWholePast()
  const later = await rowsUntil(first.length + 1)
  expect(later.length).toBeGreaterThan(first.length)
  expect(missing(later)).toBe(0)
}, 120_000)
