import { execFile, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSignalClient } from '../../clients/typescript/src/index.ts'
import { type Outcome, RACE_OUTCOMES } from '../../contracts/domain/outcome.ts'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../contracts/domain/verdict.fixture.ts'
import { CALLS } from '../../contracts/domain/verdict.ts'
import { decodeEvent } from '../../contracts/events/event-catalogue.ts'
import { appendFacts, outcomeOf, verdictRecorded } from '../../projections/given-events.fixture.ts'
import { rowsInMemory, sealedDays, verdictIndex } from '../../projections/index.ts'
import { DaySealer, followVerdicts, seriesHistory, verifyVerdict } from '../../services/analyst/index.ts'
import { runSignal } from '../../services/cli/kit/run-signal.fixture.ts'
import { createServer } from '../../services/composition/server.ts'
import { replaysOf } from '../../services/http/testing/replays.fixture.ts'
import { serverOptions } from '../../services/http/testing/server-options.fixture.ts'
import { sleep } from '../../services/runtime/async/sleep.ts'
import { uuidV8 } from '../../services/runtime/ids/uuid.ts'
import { openMemoryStore } from '../memory-store/memory-store.ts'

const DAY = Date.UTC(2026, 0, 5)
const SERIES = { exchange: 'HL', coin: 'BTC', timeframe: '1h' } as const
const COLUMNS = [
  'race',
  'entry_price',
  'exit_price',
  'close_price',
  'exit_at',
  'net_bps',
  'decided_at',
] as const
type Columns = Record<(typeof COLUMNS)[number] | 'verdict_id', string | number | null>

const hasPython = spawnSync('python3', ['--version']).status === 0
const PYTHON = `import json, sys
from signal_client import SignalClient
client = SignalClient(sys.argv[1])
follow = client.follow(after="start")
rows = list(client.replay())
print(json.dumps([rows, [next(follow) for _ in rows]]))`

const directory = mkdtempSync(join(tmpdir(), 'outcomes-'))
const { signal } = new AbortController()
let app: FastifyInstance
let url: string
/** The rows of the sealed file, by which the others go. */
let sealed: Columns[]

const moves = (race: Outcome['race'], barrier: number): number | null =>
  ({ up: barrier, down: -barrier, timeout: 0.0031, both: null, incomplete: null })[race]

/** One verdict an hour: each call with each end of a race. */
async function record(store: ReturnType<typeof openMemoryStore>): Promise<void> {
  for (let n = 0; n < CALLS.length * RACE_OUTCOMES.length; n++) {
    const [call, race] = [CALLS[n % 3] ?? 'BUY', RACE_OUTCOMES[n % 5] ?? 'up']
    const barClose = DAY + n * HOUR_MS
    const verdictId = uuidV8(Buffer.from(hash('sha256', String(n)), 'hex').subarray(0, 16))
    const verdict = aVerdict({ ...SERIES, call, verdictId, barClose, validUntil: barClose + 8 * HOUR_MS })
    const move = moves(race, verdict.barrier)
    const outcome = outcomeOf(verdict, {
      race,
      entryPrice: race === 'incomplete' ? null : 101.7,
      exitPrice: move === null ? null : 101.7 * (1 + move),
      closePrice: race === 'incomplete' ? null : 102.3,
      decidedAt: race === 'timeout' || race === 'incomplete' ? null : barClose + 3 * HOUR_MS,
    })
    await appendFacts(store, verdictRecorded(verdict), outcome)
  }
}

const outcomesIn = (rows: readonly object[]): Columns[] =>
  rows.map((row) =>
    Object.fromEntries(
      ['verdict_id', ...COLUMNS].map((name) => {
        const value = (row as Record<string, unknown>)[name]
        return [name, value instanceof Date ? value.toISOString() : value]
      }),
    ),
  ) as Columns[]

const csvRows = (text: string): Columns[] => {
  const [header = '', ...lines] = text.trimEnd().split('\r\n')
  const cells = (line: string): string[] =>
    [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, cell = '']) => cell)
  const names = header.split(',')
  const rows = lines.map((line) => {
    const values = cells(line)
    return Object.fromEntries(names.map((name, at) => [name, values[at] === '' ? null : values[at]]))
  })
  return outcomesIn(rows).map((row) => ({
    ...row,
    ...Object.fromEntries(
      (['entry_price', 'exit_price', 'close_price', 'net_bps'] as const).map((name) => [
        name,
        row[name] === null ? null : Number(row[name]),
      ]),
    ),
  }))
}
const jsonRows = (text: string): Columns[] =>
  outcomesIn(
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object),
  )
const parquetRows = async (bytes: Uint8Array): Promise<Columns[]> =>
  outcomesIn(await parquetReadObjects({ file: new Uint8Array(bytes).buffer, compressors }))

const get = async (path: string): Promise<Buffer> =>
  Buffer.from(await (await fetch(`${url}${path}`, { signal })).arrayBuffer())

beforeAll(async () => {
  const store = openMemoryStore({ now: () => DAY + 24 * HOUR_MS })
  await record(store)
  const [days, index] = [rowsInMemory(), rowsInMemory()]
  for await (const recorded of store.readAll()) {
    const event = decodeEvent(recorded)
    if (sealedDays.events.includes(event.type)) sealedDays.fold(days as never, event)
    if (verdictIndex.events.includes(event.type)) verdictIndex.fold(index as never, event)
  }
  const sealer = new DaySealer({
    store,
    rows: {
      get: (key) => days.get(key),
      range: ({ prefix, after = '' }) =>
        [...days.entries]
          .map(([key, row]) => ({ key, row }))
          .filter(({ key }) => key.startsWith(prefix) && key > after),
    },
    directory,
    market: 'live',
    marketNow: () => DAY + 72 * HOUR_MS,
    checkpoint: () => null,
    newId: () => uuidV8(Buffer.alloc(16, 7)),
    now: () => 0,
    sleep,
    onProblem: (error) => expect.fail(String(error)),
  })
  await sealer.look(signal)
  for await (const recorded of store.readAll({ filter: { types: ['DaySealed'] } }))
    sealedDays.fold(days as never, decodeEvent(recorded))
  const head = await store.head()
  app = await createServer(
    serverOptions({
      market: 'live',
      replay: replaysOf(store),
      follow: (options) => followVerdicts(store, { ...options, sleep }),
      sealed: sealer,
      seriesHistory: (query, gone) =>
        seriesHistory(store, query, { market: 'live', now: DAY + 72 * HOUR_MS, signal: gone }),
      verify: (id, gone) =>
        verifyVerdict(
          {
            store,
            index: { get: (key) => index.get(key) as never, position: () => head },
            market: 'live',
            sleep,
            signal: gone,
          },
          id,
        ),
    }),
  )
  url = await app.listen({ host: '127.0.0.1', port: 0 })
  sealed = await parquetRows(await get('/sealed/exchange=HL/date=2026-01-05/verdicts.parquet'))
})
afterAll(async () => {
  await app.close()
  rmSync(directory, { recursive: true, force: true })
})

const exported = async (format: string): Promise<Buffer> => {
  const file = join(directory, `v.${format}`)
  const { code, err } = await runSignal('replay', '--server', url, '--out', file)
  expect(code, err).toBe(0)
  return readFileSync(file)
}

async function streamed(): Promise<Columns[]> {
  const leaving = new AbortController()
  const answer = await fetch(`${url}/api/verdicts/stream?after=start`, { signal: leaving.signal })
  let text = ''
  for await (const part of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part
    if ((text.match(/^data: .*\n\n/gm) ?? []).length === sealed.length) break
  }
  leaving.abort()
  return jsonRows([...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => data).join('\n'))
}

const client = () => createSignalClient({ url })
const taken = async (rows: AsyncIterable<object>): Promise<Columns[]> => {
  const all: object[] = []
  for await (const row of rows) if (all.push(row) === sealed.length) break
  return outcomesIn(all)
}

const SURFACES: Readonly<Record<string, () => Promise<Columns[]>>> = {
  'the sealed CSV': async () =>
    csvRows(gunzipSync(await get('/sealed/exchange=HL/date=2026-01-05/verdicts.csv.gz')).toString()),
  'a replay as NDJSON': async () => jsonRows((await get('/api/verdicts')).toString()),
  'a replay as CSV': async () => csvRows((await get('/api/verdicts?format=csv')).toString()),
  'a replay as Parquet': async () => parquetRows(await get('/api/verdicts?format=parquet')),
  'the CSV that the page of a series offers': async () =>
    csvRows((await get('/api/verdicts?exchange=HL&coin=BTC&timeframe=1h&format=csv')).toString()),
  'the live stream': streamed,
  'the history of a series': async () =>
    outcomesIn(JSON.parse((await get('/api/series/HL/BTC/1h?limit=50')).toString()).rows.toReversed()),
  'a proof': async () => {
    const answers = await Promise.all(sealed.map(({ verdict_id: id }) => get(`/verify/${id}?format=json`)))
    return outcomesIn(answers.map((answer) => JSON.parse(answer.toString()).verdict as object))
  },
  'an export as NDJSON': async () => jsonRows((await exported('ndjson')).toString()),
  'an export as Parquet': async () => parquetRows(await exported('parquet')),
  'a replay of the TypeScript client': () => taken(client().replay()),
  'the live tail of the TypeScript client': () => taken(client().follow({ after: 'start' })),
}

test('the sealed file has what became of each call', () => {
  const byKind = (call: number, race: string) =>
    sealed.find((row, n) => n % 3 === call && row.race === race) ?? expect.fail()
  const barrier = 1e4 * (aVerdict().barrier - 0.0012)
  expect(byKind(0, 'up').net_bps).toBeCloseTo(barrier)
  expect(byKind(1, 'up').net_bps).toBeCloseTo(-1e4 * (aVerdict().barrier + 0.0012))
  expect(byKind(1, 'both')).toMatchObject({ exit_price: null, net_bps: -1e4 * (aVerdict().barrier + 0.0012) })
  expect(byKind(2, 'up').net_bps).toBeNull()
  expect(byKind(0, 'timeout').net_bps).toBeCloseTo(19)
  const timedOut = sealed.findIndex(({ race }) => race === 'timeout')
  expect(sealed[timedOut]).toMatchObject({
    decided_at: null,
    exit_at: new Date(DAY + (timedOut + 8) * HOUR_MS).toISOString(),
  })
  const missing = { entry_price: null, exit_price: null, close_price: null, exit_at: null, net_bps: null }
  expect(byKind(1, 'incomplete')).toMatchObject(missing)
})

test.each(Object.keys(SURFACES))('%s has the outcomes of the sealed file', async (name) => {
  expect(sealed).toHaveLength(CALLS.length * RACE_OUTCOMES.length)
  expect(await SURFACES[name]?.()).toEqual(sealed)
})

test.skipIf(!hasPython)(
  `both ways of the Python client have the outcomes of the sealed file${hasPython ? '' : ' (skipped: python3 not on PATH)'}`,
  async () => {
    const folder = resolve(import.meta.dirname, '../../clients/python')
    const env = { PATH: process.env.PATH, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' }
    const { stdout } = await promisify(execFile)('python3', ['-c', PYTHON, url], { env })
    for (const rows of JSON.parse(stdout) as object[][]) expect(outcomesIn(rows)).toEqual(sealed)
  },
)
