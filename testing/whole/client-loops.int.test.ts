import { execFile, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSignalClient } from '../../clients/typescript/src/index.ts'
import { DAY_MS } from '../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../contracts/domain/verdict.fixture.ts'
import { decodeEvent } from '../../contracts/events/event-catalogue.ts'
import { appendFacts, outcomeOf, verdictRecorded } from '../../projections/given-events.fixture.ts'
import { rowsInMemory, sealedDays, trackRecord } from '../../projections/index.ts'
import { DaySealer, trackRecordReport } from '../../services/analyst/index.ts'
import { runSignal } from '../../services/cli/kit/run-signal.fixture.ts'
import { type OwnService, startOwnService } from '../../services/composition/own-service.fixture.ts'
import { createServer } from '../../services/composition/server.ts'
import { rateLimitsOn } from '../../services/http/testing/rate-limits.fixture.ts'
import { serverOptions } from '../../services/http/testing/server-options.fixture.ts'
import { uuidV8 } from '../../services/runtime/ids/uuid.ts'
import { openMemoryStore } from '../memory-store/memory-store.ts'

const CLIENT = resolve(import.meta.dirname, '../../clients/python')
const NOTEBOOK = resolve(import.meta.dirname, '../../docs/examples/track-record.ipynb')
const hasPython = spawnSync('python3', ['--version']).status === 0
const reason = hasPython ? '' : ' (skipped: python3 not on PATH)'
const { signal } = new AbortController()

async function python(program: string, args: readonly string[], more: Record<string, string> = {}) {
  const env = { PATH: process.env.PATH, PYTHONPATH: CLIENT, PYTHONDONTWRITEBYTECODE: '1', ...more }
  const { stdout } = await promisify(execFile)('python3', ['-c', program, ...args], {
    env,
    maxBuffer: 64 * 1_024 * 1_024,
  })
  return stdout
}

/** Every list of the interface: where it is, what its rows are called, and how few of them make a page. */
const LISTS: readonly (readonly [path: string, rows: string, query: Readonly<Record<string, string>>])[] = [
  ['/api/markets', 'rows', { limit: '1' }],
  ['/api/board', 'rows', { limit: '5' }],
  ['/api/bars', 'bars', { exchange: 'SIM', coin: 'BTC', timeframe: '1m' }],
  ['/api/track-record', 'rows', { limit: '1' }],
  ['/api/track-record/months', 'rows', {}],
  ['/api/track-record/coins', 'rows', { timeframe: '15m', limit: '1' }],
  ['/api/regime-shifts', 'rows', { coin: 'BTC', timeframe: '15m', limit: '3' }],
  ['/api/series/SIM/BTC/15m', 'rows', { limit: '3' }],
  ['/sealed', 'days', { limit: '1' }],
  ['/api/usage', 'debits', { limit: '1' }],
  ['/api/payments', 'payments', { limit: '1' }],
  ['/api/webhooks', 'webhooks', {}],
]

describe('a first start of default settings', () => {
  let service: OwnService
  let key: string
  const retried: string[] = []
  const client = () =>
    createSignalClient({ url: service.url, apiKey: key, onRetry: (why) => void retried.push(why) })

  beforeAll(async () => {
    service = await startOwnService({
      FRESH: 'false',
      COINS: 'BTC,ETH',
      TIMEFRAMES: '15m,1h,4h',
      // A slow machine runs into it as well.
      RATE_PER_ADDRESS: '40',
      RATE_PER_KEY: '40',
    })
    const made = await runSignal('keys', 'create', '--tier', 'starter', '--data-dir', service.folder)
    key = /sk_live_\w+/.exec(made.said)?.[0] ?? expect.fail(made.said)
    for (const coin of ['BTC', 'ETH', 'BTC']) await client().getTradeCall({ coin, timeframe: '15m' })
    for (;;) {
      const { rows } = (await client().get('/api/track-record')) as { rows: { verdicts: number }[] }
      if (rows.length === 3 && rows.every(({ verdicts }) => verdicts > 200)) break
      await setTimeout(100)
    }
  })
  afterAll(() => service?.stop())

  /** The same list in one page, or as few as its service allows. */
  async function whole(
    path: string,
    rows: string,
    query: Readonly<Record<string, string>>,
  ): Promise<unknown[]> {
    const { limit: _few, ...all } = query
    const page = (await client().get(path, all)) as Record<string, unknown[]>
    return page[rows] ?? expect.fail(`${path} has no ${rows}`)
  }
  const periodOf = (path: string): Record<string, string> =>
    path === '/api/bars' ? { from: String(Date.now() - 4 * DAY_MS), to: String(Date.now() - 3_600_000) } : {}

  test.each(LISTS)('the TypeScript client walks %s to its end', async (path, rows, query) => {
    const asked = { ...query, ...periodOf(path) }
    const walked: unknown[] = []
    for await (const page of client().pages(path, asked))
      walked.push(...((page as Record<string, unknown[]>)[rows] ?? expect.fail()))
    const all = await whole(path, rows, asked)
    expect(walked.length).toBeGreaterThanOrEqual(Math.min(all.length, 100))
    expect(new Set(walked.map((row) => JSON.stringify(row))).size).toBe(walked.length)
  })

  test('past the rate limit it waits, and misses nothing', async () => {
    const rows: { verdict_id: string }[] = []
    for await (const page of client().pages('/api/series/SIM/ETH/1h', { limit: '1' }))
      rows.push(...(page as { rows: { verdict_id: string }[] }).rows)
    expect(new Set(rows.map(({ verdict_id: id }) => id)).size).toBe(rows.length)
    expect(rows.length).toBeGreaterThan(200)
    expect(retried.some((why) => why.includes('rate_limited'))).toBe(true)
  })

  test.skipIf(!hasPython)(`the Python client walks every list to its end${reason}`, async () => {
    const lists = LISTS.map(([path, rows, query]) => [path, rows, { ...query, ...periodOf(path) }])
    const program = `import json, sys
from signal_client import SignalClient
retried, walked = [], {}
client = SignalClient(sys.argv[1], api_key=sys.argv[2], on_retry=lambda why, _: retried.append(why))
for path, rows, query in json.loads(sys.argv[3]):
    names = {"from": "start", "to": "end"}
    query = {names.get(name, name): value for name, value in query.items()}
    walked[path] = [row for page in client.pages(path, **query) for row in page[rows]]
series = [row["verdict_id"] for page in client.pages("/api/series/SIM/ETH/1h", limit=1) for row in page["rows"]]
print(json.dumps([walked, series, retried]))`
    const [walked, series, waits] = JSON.parse(
      await python(program, [service.url, key, JSON.stringify(lists)]),
    ) as [Record<string, unknown[]>, string[], string[]]
    for (const [path, rows, query] of LISTS) {
      const all = await whole(path, rows, { ...query, ...periodOf(path) })
      const found = walked[path] ?? []
      expect([path, found.length >= Math.min(all.length, 100)]).toEqual([path, true])
      expect([path, new Set(found.map((row) => JSON.stringify(row))).size]).toEqual([path, found.length])
    }
    expect([series.length > 200, new Set(series).size]).toEqual([true, series.length])
    expect(waits.some((why) => why.includes('rate_limited'))).toBe(true)
  })
})

describe('a service with many sealed days and the usual rate limit', () => {
  const DAYS = 130
  const START = Date.UTC(2026, 0, 1)
  const directory = mkdtempSync(join(tmpdir(), 'loops-'))
  let app: FastifyInstance
  let url: string
  let refused: number
  let clock = 0

  beforeAll(async () => {
    const store = openMemoryStore({ now: () => START + 2 * DAYS * DAY_MS })
    const [days, tallied] = [rowsInMemory(), rowsInMemory()]
    for (let n = 0; n < DAYS; n++) {
      const verdictId = uuidV8(Buffer.from(hash('sha256', String(n)), 'hex').subarray(0, 16))
      const barClose = START + n * DAY_MS
      const series = { exchange: 'HL', coin: 'BTC', timeframe: '1h' } as const
      const verdict = aVerdict({ ...series, verdictId, barClose, validUntil: barClose + 8 * 3_600_000 })
      await appendFacts(store, verdictRecorded(verdict), outcomeOf(verdict, { race: 'up' }))
    }
    const fold = async (type: string, after = 'start') => {
      for await (const recorded of store.readAll({ after, filter: { types: [type] } })) {
        const event = decodeEvent(recorded)
        sealedDays.fold(days as never, event)
        if (type === 'OutcomeLabelled') trackRecord.fold(tallied as never, event)
      }
    }
    await fold('VerdictRecorded')
    await fold('OutcomeLabelled')
    const pageOf =
      (of: typeof days) =>
      ({ prefix, after = '', limit }: { prefix: string; after?: string; limit: number }) =>
        [...of.entries]
          .map(([key, row]) => ({ key, row }))
          .filter(({ key }) => key.startsWith(prefix) && key > after)
          .toSorted((a, b) => (a.key < b.key ? -1 : 1))
          .slice(0, limit)
    let made = 0
    const sealer = new DaySealer({
      store,
      rows: { get: (key) => days.get(key), range: pageOf(days) },
      directory,
      market: 'live',
      marketNow: () => START + 2 * DAYS * DAY_MS,
      checkpoint: () => null,
      newId: () => uuidV8(Buffer.from(hash('sha256', `id ${++made}`), 'hex').subarray(0, 16)),
      now: () => 0,
      sleep: async () => undefined,
      onProblem: (error) => expect.fail(String(error)),
    })
    await sealer.look(signal)
    await fold('DaySealed')
    const source = { range: pageOf(tallied), position: () => 'start' }
    app = await createServer(
      serverOptions({
        market: 'live',
        sealed: sealer,
        trackRecord: (query) => trackRecordReport(source, query),
        // The clock goes on by what a caller waits, so that each runs into the limit however slow it is.
        rateLimits: rateLimitsOn(() => clock),
      }),
    )
    refused = 0
    app.addHook('onResponse', async (_request, reply) => {
      if (reply.statusCode !== 429) return
      refused += 1
      clock += 1_000
    })
    url = await app.listen({ host: '127.0.0.1', port: 0 })
  })
  afterAll(async () => {
    await app.close()
    rmSync(directory, { recursive: true, force: true })
  })

  test('the TypeScript client has each manifest', async () => {
    const client = createSignalClient({ url })
    const found: unknown[] = []
    for await (const page of client.pages('/sealed', { limit: 40 }))
      for (const { path } of (page as { days: { path: string }[] }).days)
        found.push(await client.get(`${path}manifest.json`))
    expect([found.length, refused > 0]).toEqual([DAYS, true])
  })

  test.skipIf(!hasPython)(`so has the Python client${reason}`, async () => {
    refused = 0
    const program = `import sys
from signal_client import SignalClient
client = SignalClient(sys.argv[1])
print(len([client.get(day["path"] + "manifest.json") for page in client.pages("/sealed", limit=40) for day in page["days"]]))`
    expect([await python(program, [url]), refused > 0]).toEqual([`${DAYS}\n`, true])
  })

  test.skipIf(!hasPython)(`and the notebook runs to its end${reason}`, async () => {
    refused = 0
    const cells = `import json, sys
names = {}
for cell in json.load(open(sys.argv[1]))['cells']:
    if cell['cell_type'] == 'code':
        exec(''.join(cell['source']), names)`
    const said = await python(cells, [NOTEBOOK], { SEALED: url })
    expect(said).toContain(`${DAYS} verdicts\n`)
    expect(said).toContain('1 of 1 rows are the published ones to the last digit')
    expect(refused).toBeGreaterThan(0)
  })
})
