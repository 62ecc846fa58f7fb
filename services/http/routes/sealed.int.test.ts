import { execFile, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import type { FastifyInstance } from 'fastify'
import { asyncBufferFromUrl, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RACE_OUTCOMES } from '../../../contracts/domain/outcome.ts'
import { DAY_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import { decodeEvent, VerdictRecorded } from '../../../contracts/events/event-catalogue.ts'
import { outcomeStream, verdictStream } from '../../../contracts/events/streams.ts'
import type { NewEvent } from '../../../contracts/infra/event.ts'
import { outcomeLabelled } from '../../../projections/given-events.fixture.ts'
import { rowsInMemory, sealedDays, sealedManifestKey, trackRecord } from '../../../projections/index.ts'
import { appendNext } from '../../../testing/append-next.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { DaySealer, trackRecordReport } from '../../analyst/index.ts'
import { createServer } from '../../composition/server.ts'
import { uuidV8 } from '../../runtime/ids/uuid.ts'
import { serverOptions } from '../testing/server-options.fixture.ts'
import { rangeOf } from './sealed.ts'

const DAY = Date.UTC(2026, 0, 1)
const CALLS = ['BUY', 'SELL', 'HOLD'] as const
const COINS = ['ADA', 'BTC', 'ETH']
const meta = { correlationId: 'test', actor: 'test' }
const { signal } = new AbortController()
/** The first day, and one verdict on some of those behind: so many that there are enough blocks to tell their spread. */
const MINUTES = [...Array(1_440).keys(), ...[2, 3, 4, 5, 6].map((day) => day * 1_440)]
const NOTEBOOK = join(import.meta.dirname, '../../../docs/examples/track-record.ipynb')
const isThere = (command: string): boolean => spawnSync(command, ['--version']).status === 0
const hasPython = isThere('python3')
const hasJupyter = isThere('jupyter')
/** Runs the cells of a notebook one after the other. */
const CELLS = `import json, sys
names = {}
for cell in json.load(open(sys.argv[1]))['cells']:
    if cell['cell_type'] == 'code':
        exec(''.join(cell['source']), names)`

let made = 0
const nextId = (): string => uuidV8(Buffer.from(hash('sha256', String(++made)), 'hex').subarray(0, 16))

describe('sealed days', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sealed-'))
  const store = openMemoryStore({ now: () => DAY + 2 * DAY_MS })
  const rows = rowsInMemory()
  const tallied = rowsInMemory()
  let marketNow = DAY + 12 * 60 * MINUTE_MS
  let sealer: DaySealer
  let other: DaySealer
  let app: FastifyInstance
  let address: string
  let [readings, readingsOfSixDays] = [0, 0]
  /** The list while the day goes on. */
  let meanwhile: unknown

  async function append(stream: string, events: readonly NewEvent[]): Promise<void> {
    for (let at = 0; at < events.length; at += 250)
      await appendNext(store, stream, events.slice(at, at + 250))
  }

  const sorted = (of: typeof rows) =>
    [...of.entries].map(([key, row]) => ({ key, row })).toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const pageOf =
    (of: typeof rows) =>
    ({ prefix, after = '', limit }: { prefix: string; after?: string; limit: number }) =>
      sorted(of)
        .filter(({ key }) => key.startsWith(prefix) && key > after)
        .slice(0, limit)

  /** Every minute of a day a verdict of each coin; and some on the days behind the next, so that a day between is empty. */
  async function record(): Promise<void> {
    for (const coin of COINS) {
      const series = { exchange: 'HL', coin, timeframe: '1m' } as const
      const [verdicts, outcomes]: NewEvent[][] = [[], []]
      for (const minute of MINUTES) {
        const [id, barClose, call] = [nextId(), DAY + minute * MINUTE_MS, CALLS[(minute * 7) % 3] ?? 'HOLD']
        const inputsHash = hash('sha256', id)
        // As many digits as measured values have.
        const factors = Array.from({ length: 8 }, (_, n) => {
          const value = Number.parseInt(inputsHash.slice(n, n + 13), 16) / 16 ** 13
          return { name: `feature_${n}`, value, contribution: value / 7, status: 'measured' as const }
        })
        /** Between 0 and 1, of as many digits. */
        const chance = (n: number): number => factors[n]?.value ?? 0
        const change = {
          verdictId: id,
          barClose,
          call,
          factors,
          inputsHash,
          validUntil: barClose + 15 * MINUTE_MS,
          probability: 0.4 + chance(0) / 4,
          barrier: 0.01 + chance(1) / 100,
          recordedLate: minute % 97 === 5,
          // Of a market that stood still there is none.
          ...(minute % 50 === 3 && { forecast: null }),
        }
        const data = aVerdict({ ...series, ...change, reasoning: `Bar ${minute}, "quoted", of ${coin}.` })
        const race = RACE_OUTCOMES[Math.floor(5 * chance(2))] ?? 'up'
        const entryPrice = race === 'incomplete' ? null : 100 * (1 + chance(3))
        const at = (move: number): number | null => entryPrice && entryPrice * (1 + move)
        const moves = { up: data.barrier, down: -data.barrier, timeout: (chance(4) - 0.5) / 50 }
        const ended = {
          race,
          entryPrice,
          exitPrice: race === 'both' || race === 'incomplete' ? null : at(moves[race]),
          closePrice: at((chance(5) - 0.5) / 20),
        }
        verdicts?.push({ id, type: VerdictRecorded.type, schema: VerdictRecorded.schema, data, meta })
        const { event } = outcomeLabelled({ coin, call, barClose, ...ended })
        const { validUntil, probability, barrier, recordedLate, forecast } = data
        const said = { validUntil, probability, barrier, recordedLate, forecast }
        outcomes?.push({
          ...event,
          id: nextId(),
          data: { ...event.data, ...series, ...said, verdictId: id, decidedAt: null },
        })
      }
      await append(verdictStream(series), verdicts ?? [])
      await append(outcomeStream(series), outcomes ?? [])
    }
  }

  let folded = 'start'
  async function catchUp(): Promise<void> {
    for await (const event of store.readAll({ after: folded, filter: { types: sealedDays.events } })) {
      sealedDays.fold(rows as never, decodeEvent(event))
      folded = event.position
    }
  }

  beforeAll(async () => {
    const options = {
      store: {
        ...store,
        readAll(request?: Parameters<typeof store.readAll>[0]) {
          readings += 1
          return store.readAll(request)
        },
      },
      rows: {
        get: (key: string) => rows.get(key),
        range: pageOf(rows),
      },
      directory,
      market: 'live' as const,
      marketNow: () => marketNow,
      checkpoint: () => null,
      newId: nextId,
      now: () => 0,
      sleep: async () => undefined,
      onProblem: (error: unknown) => {
        throw error
      },
    }
    sealer = new DaySealer(options)
    other = new DaySealer(options)
    await record()
    await catchUp()
    await sealer.look(signal)
    meanwhile = sealer.list({ exchange: undefined, after: undefined, limit: 10 })
    marketNow = DAY + 8 * DAY_MS
    readings = 0
    await sealer.look(signal)
    readingsOfSixDays = readings
    // The read model does not know yet what is sealed.
    await sealer.look(signal)
    await catchUp()
    await sealer.look(signal)
    await catchUp()
    for await (const event of store.readAll({ after: 'start', filter: { types: ['OutcomeLabelled'] } }))
      trackRecord.fold(tallied as never, decodeEvent(event))
    const source = { range: pageOf(tallied), position: () => 'start' }
    app = await createServer(
      serverOptions({ sealed: sealer, trackRecord: (query) => trackRecordReport(source, query) }),
    )
    address = await app.listen({ port: 0, host: '127.0.0.1' })
  })
  afterAll(async () => {
    await app.close()
    rmSync(directory, { recursive: true })
  })

  const PLACE = '/sealed/exchange=HL/date=2026-01-01'

  test('nothing is sealed while the day goes on; then each day once, and days without verdicts are told', async () => {
    expect(meanwhile).toEqual({ days: [], next: null })
    const sealed: unknown[] = []
    for await (const { data } of store.readAll({ filter: { types: ['DaySealed'] } })) sealed.push(data.day)
    expect(sealed).toEqual([...new Set(sealed)])
    expect([sealed.length, readingsOfSixDays]).toEqual([6, 1])
    const { body } = await app.inject('/sealed?exchange=HL')
    const { days } = JSON.parse(body) as {
      days: { date: string; rows: number; manifest_sha256: string; path: string | null }[]
    }
    expect(days.map(({ date, rows: count, path }) => [date, count, path])).toEqual([
      ['2026-01-01', 1_440 * COINS.length, `${PLACE}/`],
      ['2026-01-02', 0, null],
      ...[3, 4, 5, 6, 7].map((day) => [
        `2026-01-0${day}`,
        COINS.length,
        `/sealed/exchange=HL/date=2026-01-0${day}/`,
      ]),
    ])
    const manifest = (await app.inject(`${PLACE}/manifest.json`)).body
    expect(hash('sha256', manifest)).toBe(days[0]?.manifest_sha256)
    for (const { name, bytes, sha256 } of JSON.parse(manifest).files) {
      const { rawPayload, headers } = await app.inject(`${PLACE}/${name}`)
      expect([rawPayload.length, hash('sha256', rawPayload), headers.etag]).toEqual([
        bytes,
        sha256,
        `"${sha256}"`,
      ])
    }
  })

  test('a filtered count reads under one part in a hundred of a file, and DuckDB counts the same', async () => {
    const url = `${address}${PLACE}/verdicts.parquet`
    const head = await fetch(url, { method: 'HEAD' })
    const all = Number(head.headers.get('content-length'))
    let read = 0
    const counted = await asyncBufferFromUrl({ url, byteLength: all })
    const file = {
      byteLength: counted.byteLength,
      async slice(from: number, to?: number) {
        const bytes = await counted.slice(from, to)
        read += bytes.byteLength
        return bytes
      },
    }
    const metadata = await parquetMetadataAsync(file, { initialFetchSize: 1_024 })
    const calls = await parquetReadObjects({ file, metadata, compressors, columns: ['call'] })
    const buys = calls.filter(({ call }) => call === 'BUY').length
    expect(buys).toBe(COINS.length * 480)
    expect(metadata.key_value_metadata).toContainEqual({ key: 'schema_version', value: '4' })
    expect(read / all).toBeLessThan(0.01)

    const local = join(directory, 'local.parquet')
    writeFileSync(local, Buffer.from(await (await fetch(url)).arrayBuffer()))
    const duck = await (await DuckDBInstance.create(':memory:')).connect()
    const answer = await duck.runAndReadAll(
      `SELECT count(*) FILTER (call = 'BUY') AS buys, count(*) AS verdicts, max(bar_close)::VARCHAR AS newest, count(decided_at) AS decided FROM '${local}'`,
    )
    expect(answer.getRowObjects()).toEqual([
      {
        buys: BigInt(buys),
        verdicts: 4_320n,
        newest: expect.stringContaining('2026-01-01 23:59:00'),
        decided: 0n,
      },
    ])
    const csv = gunzipSync((await app.inject(`${PLACE}/verdicts.csv.gz`)).rawPayload).toString()
    expect(csv.split('\r\n')).toHaveLength(4_322)
    expect(csv).toContain('"Bar 0, ""quoted"", of ADA."')
  })

  test('times of Parquet are those of the CSV in every zone', async () => {
    for (const name of ['verdicts.parquet', 'verdicts.csv.gz'])
      writeFileSync(join(directory, name), (await app.inject(`${PLACE}/${name}`)).rawPayload)
    const duck = await (await DuckDBInstance.create(':memory:')).connect()
    await duck.run("SET timezone = 'America/New_York'")
    const answer = await duck.runAndReadAll(
      `SELECT count(*) FILTER (p.bar_close = c.bar_close AND p.labelled_at = c.labelled_at) AS same
       FROM '${join(directory, 'verdicts.parquet')}' p JOIN read_csv('${join(directory, 'verdicts.csv.gz')}') c ON p.verdict_id = c.verdict_id::UUID`,
    )
    expect(answer.getRowObjects()).toEqual([{ same: 4_320n }])
  })

  test('a day that another release sealed is served while its files are here, and not made again', async () => {
    const key = sealedManifestKey('HL', '2026-01-04')
    const sealed = (rows.get(key) ?? expect.fail()) as { sha256: string; manifest: string }
    const url = '/sealed/exchange=HL/date=2026-01-04/verdicts.parquet'
    const before = await app.inject(url)
    const manifest = sealed.manifest.replace('"schema_version":4', '"schema_version":3')
    rows.put(key, { sha256: hash('sha256', manifest), manifest })
    expect((await app.inject(url)).rawPayload.equals(before.rawPayload)).toBe(true)
    rmSync(join(directory, 'exchange=HL'), { recursive: true, force: true })
    const refused = await app.inject(url)
    expect([refused.statusCode, refused.json()]).toMatchObject([
      503,
      {
        code: 'store_unavailable',
        message: expect.stringContaining('2026-01-04 of HL was sealed by another release'),
      },
    ])
    rows.put(key, sealed)
  })

  test('two processes over one folder make a day at once, and neither spoils the files of the other', async () => {
    const place = join(directory, 'exchange=HL', 'date=2026-01-03')
    await sealer.file('HL', '2026-01-03', 'verdicts.parquet', signal)
    const wanted = readFileSync(join(place, 'verdicts.parquet'))
    rmSync(place, { recursive: true })
    const files = await Promise.all(
      [sealer, other].map((one) => one.file('HL', '2026-01-03', 'verdicts.parquet', signal)),
    )
    expect(files.map(({ bytes }) => bytes)).toEqual([wanted.length, wanted.length])
    expect(readFileSync(join(place, 'verdicts.parquet')).equals(wanted)).toBe(true)
    expect(readdirSync(place).toSorted()).toEqual(['verdicts.csv.gz', 'verdicts.parquet'])
  })

  test('a file that this process does not have is made again, the same', async () => {
    rmSync(join(directory, 'exchange=HL'), { recursive: true, force: true })
    const { rawPayload, headers } = await app.inject({
      url: '/sealed/exchange=HL/date=2026-01-03/verdicts.parquet',
      headers: { range: 'bytes=0-3' },
    })
    expect([rawPayload.toString(), headers['content-length']]).toEqual(['PAR1', '4'])
  })

  /** The output of the notebook, and whether it ran to its end. */
  const runNotebook = (sealed: string, command: string, args: readonly string[]) =>
    new Promise<{ isThrough: boolean; out: string }>((resolve) => {
      const env = { ...process.env, SEALED: sealed }
      execFile(command, [...args, NOTEBOOK], { env }, (error, out, err) =>
        resolve({ isThrough: error === null, out: out + err }),
      )
    })
  const runCells = (sealed: string) => runNotebook(sealed, 'python3', ['-c', CELLS])
  const [python, jupyter] = [
    hasPython ? '' : ' (skipped: python3 not on PATH)',
    hasJupyter ? '' : ' (skipped: jupyter not on PATH)',
  ]

  test.skipIf(!hasPython)(
    `the notebook finds the published track record to the last digit${python}`,
    async () => {
      const { isThrough, out } = await runCells(address)
      expect(out).toContain(`${MINUTES.length * COINS.length} verdicts\n`)
      expect(out).toContain('1 of 1 rows are the published ones to the last digit')
      expect(isThrough).toBe(true)
      const [row] = JSON.parse((await app.inject('/api/track-record')).body).rows
      expect([row.non_overlapping.t, row.ranges.pinball_bps, row.calibration_error]).not.toContain(null)
    },
  )

  test.skipIf(!hasPython)(
    `the notebook tells a digit that was improved, and a file that was exchanged${python}`,
    async () => {
      const folder = join(directory, 'copy')
      for (const day of [1, 3, 4, 5, 6, 7]) {
        const place = `exchange=HL/date=2026-01-0${day}`
        mkdirSync(join(folder, place), { recursive: true })
        for (const name of ['manifest.json', 'verdicts.csv.gz'])
          writeFileSync(join(folder, place, name), (await app.inject(`/sealed/${place}/${name}`)).rawPayload)
      }
      const answer = JSON.parse((await app.inject('/api/track-record')).body)
      answer.rows[0].non_overlapping.net_mean_bps *= 1 + 2 ** -51
      writeFileSync(join(folder, 'track-record.json'), JSON.stringify(answer))
      const improved = await runCells(folder)
      expect([improved.isThrough, improved.out]).toEqual([false, expect.stringContaining('.net_mean_bps: ')])
      writeFileSync(join(folder, 'exchange=HL/date=2026-01-03/verdicts.csv.gz'), 'another')
      const exchanged = await runCells(folder)
      expect([exchanged.isThrough, exchanged.out]).toEqual([
        false,
        expect.stringContaining('is not the file that was sealed'),
      ])
    },
  )

  test.skipIf(!hasJupyter)(`Jupyter executes the notebook${jupyter}`, async () => {
    const { isThrough, out } = await runNotebook(address, 'jupyter', [
      'nbconvert',
      '--to=notebook',
      '--execute',
      '--stdout',
    ])
    expect([isThrough, out]).toEqual([true, expect.stringContaining('1 of 1 rows are the published ones')])
  })

  test.each([
    [{ range: 'bytes=99999999-' }, `${PLACE}/verdicts.parquet`, 416, 'range_invalid'],
    [{}, '/sealed/exchange=HL/date=2026-01-02/verdicts.parquet', 404, 'not_found'],
    [{}, '/sealed/exchange=HL/date=2026-13-02/verdicts.parquet', 400, 'invalid_request'],
    [{}, '/sealed/HL/2026-01-01/verdicts.parquet', 400, 'invalid_request'],
    [{}, `${PLACE}/..%2f..%2fsealing.key`, 400, 'invalid_request'],
    [{}, '/sealed?after=x', 400, 'invalid_request'],
  ])('%j of %s is refused', async (headers, url, status, code) => {
    const answer = await app.inject({ url, headers })
    expect([answer.statusCode, JSON.parse(answer.body).code]).toEqual([status, code])
  })
})

test.each([
  [undefined, undefined],
  ['bytes=0-', { from: 0, to: 9 }],
  ['bytes=2-3', { from: 2, to: 3 }],
  ['bytes=2-99', { from: 2, to: 9 }],
  ['bytes=-4', { from: 6, to: 9 }],
  ['bytes=-99', { from: 0, to: 9 }],
  ['bytes=-0', 'beyond'],
  ['bytes=10-', 'beyond'],
  ['bytes=3-2', undefined],
  ['bytes=0-1,4-5', undefined],
  ['lines=1-2', undefined],
])('the range %j of ten bytes', (header, part) => expect(rangeOf(header, 10)).toEqual(part))
