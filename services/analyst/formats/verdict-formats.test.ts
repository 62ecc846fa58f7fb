import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { describe, expect, test } from 'vitest'
import { type VerdictRow, verdictRow, verdictRowSchema } from '../../../contracts/answers/verdict-row.ts'
import { RACE_OUTCOMES } from '../../../contracts/domain/outcome.ts'
import { EXCHANGES } from '../../../contracts/domain/series.ts'
import { MINUTE_MS, TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import { CALLS, REGIMES } from '../../../contracts/domain/verdict.ts'
import { cursorAt } from '../shown-rows.ts'
import { VERDICT_COLUMNS } from './verdict-columns.ts'
import { acceptedFormat, FORMATS, formatOfFile, type VerdictFormat } from './verdict-formats.ts'

async function* from(rows: readonly VerdictRow[]): AsyncGenerator<VerdictRow, void, void> {
  yield* rows
}

async function chunksOf(format: VerdictFormat, rows: readonly VerdictRow[]): Promise<Buffer[]> {
  const chunks: Buffer[] = []
  for await (const chunk of FORMATS[format].encode(from(rows))) chunks.push(Buffer.from(chunk))
  return chunks
}

async function encoded(format: VerdictFormat, rows: readonly VerdictRow[]): Promise<Buffer> {
  return Buffer.concat(await chunksOf(format, rows))
}

/** Records of RFC 4180, read character by character. */
function readCsv(text: string): string[][] {
  const records: string[][] = []
  let record: string[] = []
  let field = ''
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (isQuoted) {
      if (character !== '"') field += character
      else if (text[at + 1] === '"') {
        field += '"'
        at++
      } else isQuoted = false
    } else if (character === '"') isQuoted = true
    else if (character === ',' || (character === '\r' && text[at + 1] === '\n')) {
      record.push(field)
      field = ''
      if (character === ',') continue
      records.push(record)
      record = []
      at++
    } else field += character
  }
  expect([field, record]).toEqual(['', []])
  return records
}

const OPTIONAL = new Set<string>(
  VERDICT_COLUMNS.filter(({ isOptional }) => isOptional).map(({ name }) => name),
)

const readBack: Readonly<Record<VerdictFormat, (bytes: Buffer) => Promise<Record<string, unknown>[]>>> = {
  ndjson: async (bytes) =>
    bytes
      .toString()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  csv: async (bytes) => {
    const [header = [], ...records] = readCsv(bytes.toString())
    const numeric = new Set(
      VERDICT_COLUMNS.filter(({ kind }) => kind === 'number' || kind === 'integer').map(
        ({ name }) => name as string,
      ),
    )
    return records.map((record) =>
      Object.fromEntries(
        header.map((name, index) => {
          const text = record[index] ?? ''
          if (text === '' && OPTIONAL.has(name)) return [name, null]
          if (['factors', 'expected_range'].includes(name)) return [name, JSON.parse(text) as unknown]
          return [name, numeric.has(name) ? Number(text) : text]
        }),
      ),
    )
  },
  parquet: async (bytes) => {
    const file = new Uint8Array(bytes).buffer
    const rows = await parquetReadObjects({ file })
    return rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          value instanceof Date ? value.toISOString() : (value as unknown),
        ]),
      ),
    )
  },
}

/** JSON, and so every format, knows one zero. */
const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)
const instant = fc.integer({ min: 0, max: 4_102_444_800_000 }).map((time) => new Date(time).toISOString())
const percent = fc.nat(100)
const row: fc.Arbitrary<VerdictRow> = fc.record({
  shifted_from: fc.constantFrom(...REGIMES, '' as const),
  bars_missed: fc.nat(),
  recorded_as: fc.constantFrom('live' as const, 'backfill' as const, 'late' as const),
  expected_range: fc.option(fc.record({ p10: finite, p25: finite, p50: finite, p75: finite, p90: finite })),
  expected_volatility: fc.option(finite),
  cursor: fc.stringMatching(/^[0-9~/]{1,40}$/),
  verdict_id: fc.uuid(),
  exchange: fc.constantFrom(...EXCHANGES),
  coin: fc.stringMatching(/^[A-Z0-9]{1,20}$/),
  timeframe: fc.constantFrom(...TIMEFRAMES),
  bar_close: instant,
  valid_until: instant,
  recorded_at: instant,
  call: fc.constantFrom(...CALLS),
  confidence: percent,
  strength: percent,
  probability: finite,
  regime: fc.constantFrom(...REGIMES),
  regime_since: instant,
  regime_strength: percent,
  volatility_percentile: finite,
  price: finite,
  barrier: finite,
  factors: fc.array(
    fc.record({
      name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
      value: fc.option(finite),
      contribution: finite,
      status: fc.constantFrom('measured' as const, 'unavailable' as const),
    }),
    { maxLength: 4 },
  ),
  reasoning: fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.string({ unit: fc.constantFrom('"', ',', '\r', '\n', ';', '=', 'é', '😀'), maxLength: 20 }),
  ),
  model_version: fc.stringMatching(/^[a-z0-9][a-z0-9.-]{0,20}$/),
  anchor_bar: instant,
  inputs_hash: fc.stringMatching(/^[0-9a-f]{64}$/),
  visible_at: instant,
  decided_at: fc.option(instant),
  race: fc.option(fc.constantFrom(...RACE_OUTCOMES)),
  entry_price: fc.option(finite),
  exit_price: fc.option(finite),
  close_price: fc.option(finite),
  exit_at: fc.option(instant),
  net_bps: fc.option(finite),
})

const formats = Object.keys(FORMATS) as VerdictFormat[]

describe.each(formats)('%s', (format) => {
  test('gives back every row as it was', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 8 }), async (rows) => {
        expect(await readBack[format](await encoded(format, rows))).toEqual(rows)
      }),
      { numRuns: 60 },
    )
  })

  test('of more rows than are held at a time keeps them all, in order', async () => {
    const rows = Array.from({ length: 5_001 }, (_, index) =>
      verdictRow(aVerdict({ barClose: index * 60_000 }), String(index), '2025-01-01T00:00:00.000Z'),
    )
    expect(await readBack[format](await encoded(format, rows))).toEqual(rows)
  })

  test('that fails before its first row has written nothing', async () => {
    async function* failing(): AsyncGenerator<VerdictRow, void, void> {
      yield* []
      throw new Error('away')
    }
    await expect(FORMATS[format].encode(failing()).next()).rejects.toThrow('away')
  })
})

test('columns are the fields of a row, in their order', () => {
  expect(VERDICT_COLUMNS.map(({ name }) => name)).toEqual(Object.keys(verdictRowSchema.shape))
})

test('CSV without rows has its header, Parquet its columns', async () => {
  expect((await encoded('csv', [])).toString()).toMatch(
    /^cursor,verdict_id,.*,recorded_as,expected_range,expected_volatility,visible_at,decided_at,race,entry_price,exit_price,close_price,exit_at,net_bps\r\n$/,
  )
  expect((await encoded('ndjson', [])).length).toBe(0)
  const bytes = new Uint8Array(await encoded('parquet', []))
  const metadata = await parquetMetadataAsync(bytes.buffer)
  expect([metadata.num_rows, metadata.schema.length]).toEqual([0n, 37])
})

test('Parquet has typed columns and groups of 2,000 rows, written one by one', async () => {
  const rows = Array.from({ length: 4_500 }, (_, index) =>
    verdictRow(aVerdict(), String(index), '2025-01-01T00:00:00.000Z'),
  )
  const chunks = await chunksOf('parquet', rows)
  const bytes = new Uint8Array(Buffer.concat(chunks))
  const { row_groups, schema } = await parquetMetadataAsync(bytes.buffer)
  expect(row_groups.map(({ num_rows }) => num_rows)).toEqual([2_000n, 2_000n, 500n])
  expect(chunks).toHaveLength(4)
  const typeOf = (name: string) => {
    const element = schema.find((column) => column.name === name)
    return [element?.type, element?.logical_type?.type ?? element?.converted_type]
  }
  expect(typeOf('verdict_id')).toEqual(['FIXED_LEN_BYTE_ARRAY', 'UUID'])
  expect(typeOf('bar_close')).toEqual(['INT64', 'TIMESTAMP'])
  expect(typeOf('confidence')).toEqual(['INT32', undefined])
  expect(typeOf('probability')).toEqual(['DOUBLE', undefined])
  expect(typeOf('factors')).toEqual(['BYTE_ARRAY', 'JSON'])
})

test('times of Parquet are those of the CSV in every zone, and a cursor is text in both', async () => {
  const place = mkdtempSync(join(tmpdir(), 'formats-'))
  try {
    const rows = Array.from({ length: 3_000 }, (_, index) =>
      verdictRow(aVerdict({ barClose: index * MINUTE_MS }), cursorAt(`${index}`), '2025-01-01T00:00:00.000Z'),
    )
    for (const format of ['parquet', 'csv'] as const)
      writeFileSync(join(place, `v.${format}`), await encoded(format, rows))
    const duck = await (await DuckDBInstance.create(':memory:')).connect()
    await duck.run("SET timezone = 'America/New_York'")
    const times = VERDICT_COLUMNS.filter(({ kind }) => kind === 'instant').map(({ name }) => name)
    const answer = await duck.runAndReadAll(
      `SELECT ${times.map((name) => `count(*) FILTER (p.${name} IS NOT DISTINCT FROM c.${name}::TIMESTAMPTZ) AS ${name}`).join(', ')}, any_value(typeof(c.bar_close)) AS type, any_value(typeof(c.cursor)) AS cursor
       FROM '${join(place, 'v.parquet')}' p POSITIONAL JOIN read_csv('${join(place, 'v.csv')}', sample_size = 100) c`,
    )
    expect(answer.getRowObjects()).toEqual([
      {
        ...Object.fromEntries(times.map((name) => [name, 3_000n])),
        type: 'TIMESTAMP WITH TIME ZONE',
        cursor: 'VARCHAR',
      },
    ])
  } finally {
    rmSync(place, { recursive: true })
  }
})

describe('the format of an answer', () => {
  test.each([
    [undefined, 'ndjson'],
    ['*/*', 'ndjson'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'ndjson'],
    ['text/csv', 'csv'],
    ['Text/CSV; header=present', 'csv'],
    ['application/vnd.apache.parquet', 'parquet'],
    ['text/csv;q=0.5, application/x-ndjson;q=0.9', 'ndjson'],
    ['text/csv;q=0', 'ndjson'],
    ['text/csv;q=x', 'ndjson'],
  ])('asked for with %j is %s', (accept, format) => {
    expect(acceptedFormat(accept)).toBe(format)
  })

  test('of a file is its ending', () => {
    expect(['a.csv', 'b.PARQUET', 'c.d.ndjson', 'e.arrow', 'csv'].map(formatOfFile)).toEqual([
      'csv',
      'parquet',
      'ndjson',
      undefined,
      undefined,
    ])
  })
})
