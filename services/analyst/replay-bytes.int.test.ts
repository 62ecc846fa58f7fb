import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { NewEvent } from '../../contracts/event.ts'
import { decodeEvent, OutcomeLabelled, VerdictRecorded } from '../../contracts/event-catalogue.ts'
import { newEvent } from '../../contracts/event-definition.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { outcomeStream, verdictStream } from '../../contracts/streams.ts'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import { aVerdict } from '../../contracts/verdict.fixture.ts'
import type { Verdict } from '../../contracts/verdict.ts'
import { type VerdictRow, verdictRow } from '../../contracts/verdict-row.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import { archive } from '../log/embedded/archived-log.fixture.ts'
import { logFile, openEmbeddedStore } from '../log/embedded/embedded-store.ts'
import type { EventStore } from '../log/event-store.ts'
import { PROCESS_TIME } from '../runtime/admission/line.ts'
import { createTurns } from '../runtime/admission/turns.ts'
import { csvLine } from './formats/encode-text.ts'
import { VERDICT_COLUMNS } from './formats/verdict-columns.ts'
import { VERDICT_FORMATS, type VerdictFormat } from './formats/verdict-formats.ts'
import { AT_START } from './replay-cursor.ts'
import { replaysOnThisThread } from './replay-source.ts'
import { replayVerdicts } from './replay-verdicts.ts'

const DAY = Date.UTC(2026, 0, 5)
const SERIES = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' } as const
const { signal } = new AbortController()
const meta = { correlationId: 'a bar', actor: 'engine' }
const idOf = (index: number): string => `0190a000-0000-8000-8000-${String(index).padStart(12, '0')}`

const { factors: usual } = aVerdict()
const odd = (name: string) => [
  ...usual,
  { name, value: null, contribution: 0, status: 'unavailable' as const },
]
/** Verdicts that differ in every field that a row can show in more than one way. */
const CHANGES: readonly Partial<Verdict>[] = [
  {},
  { previous: { barClose: DAY, regime: 'RANGING' } },
  { previous: { barClose: DAY - 9 * HOUR_MS, regime: 'VOLATILE' }, call: 'BUY' },
  { forecast: null },
  { closesHigher: 0.4712345 },
  { closesHigher: 1e-7, forecast: null },
  { recordedLate: true },
  { recordedLate: true, validUntil: DAY + 900 * HOUR_MS },
  { factors: [] },
  { factors: odd(']') },
  { factors: odd('"reasoning":"no"') },
  { factors: odd('back\\slash') },
  { reasoning: 'Says "up", and\r\nbreaks; é😀 \u2028' },
  { reasoning: 'a\\' },
  { reasoning: '' },
  { modelVersion: 'a"b' },
  { probability: 1e-7, price: 1e21, barrier: 5e-324, volatilityPercentile: 0 },
  { regimeSince: DAY + 61_001 },
  // Withheld: its window is open.
  { validUntil: DAY + 2_000 * HOUR_MS },
]

const former: Readonly<Record<number, (data: JsonObject) => JsonObject>> = {
  1: ({ previous: _previous, recordedLate: _late, forecast: _forecast, closesHigher: _closes, ...data }) =>
    data,
  2: ({ forecast: _forecast, closesHigher: _closes, ...data }) => data,
  3: ({ closesHigher: _closes, ...data }) => data,
  4: ({ closesHigher: _closes, ...data }) => data,
  5: (data) => data,
}

const ROWS = 2_100

function eventsOf(index: number): readonly [string, NewEvent][] {
  const barClose = DAY + (index % 700) * HOUR_MS
  const change = CHANGES[index % CHANGES.length]
  const coin = `C${Math.floor(index / 700)}`
  const about = { ...SERIES, coin, verdictId: idOf(index), barClose, validUntil: barClose + 8 * HOUR_MS }
  const data = aVerdict({ ...about, ...change })
  const schema = 1 + (Math.floor(index / CHANGES.length) % 5)
  const verdict = newEvent(VerdictRecorded, { id: idOf(index), data, meta })
  const written = { ...verdict, schema, data: former[schema]?.(verdict.data) ?? {} }
  return [[verdictStream(data), written], ...outcomesOf(index, data)]
}

function outcomesOf(index: number, { forecast, ...data }: Verdict): readonly [string, NewEvent][] {
  if (index % 5 === 0) return []
  const { exchange, coin, timeframe, verdictId, barClose, validUntil, modelVersion, call, probability } = data
  const about = {
    exchange,
    coin,
    timeframe,
    verdictId,
    barClose,
    validUntil,
    modelVersion,
    call,
    probability,
  }
  const decidedAt = index % 3 === 0 ? null : validUntil - HOUR_MS
  const race = decidedAt === null ? 'timeout' : 'up'
  const prices = {
    entryPrice: 1,
    exitPrice: 2,
    decidedAt,
    highest: 0.1,
    lowest: null,
    closePrice: 2,
  } as const
  const rest = { barrier: data.barrier, race, forecast, recordedLate: data.recordedLate, ...prices } as const
  const event = newEvent(OutcomeLabelled, { id: idOf(index + 100_000), data: { ...about, ...rest }, meta })
  const { forecast: _, closePrice: _later, ...before } = event.data
  return [[outcomeStream(data), index % 2 === 0 ? event : { ...event, schema: 2, data: before }]]
}

async function fill(store: EventStore): Promise<void> {
  const subject = { id: idOf(900_000), type: 'SubjectKeyCreated', schema: 1, data: {}, meta }
  await store.append('subject-1', [subject], { expected: 'no-stream' })
  for (let index = 0; index < ROWS; index++)
    for (const [stream, event] of eventsOf(index)) await store.append(stream, [event], { expected: 'any' })
  await store.erase('subject-1')
}

const directory = mkdtempSync(join(tmpdir(), 'replay-bytes-'))
let store: EventStore
beforeAll(async () => {
  store = await openEmbeddedStore({ directory, now: () => DAY + 1_000 * HOUR_MS + 7 })
  await fill(store)
})
afterAll(async () => {
  await store.close()
  rmSync(directory, { recursive: true })
})

const NOW = DAY + 1_000 * HOUR_MS
const asked = { filter: {}, after: AT_START, limit: 1_000_000, now: NOW }

async function replayed(from: EventStore, format: VerdictFormat): Promise<Buffer> {
  const replay = replaysOnThisThread(from, createTurns({ turnMs: 1, time: PROCESS_TIME }))
  const parts: Buffer[] = []
  for await (const chunk of replay({ options: asked, format, owner: 'one', signal }).chunks)
    parts.push(Buffer.from(chunk))
  return Buffer.concat(parts)
}

/** Rows by their definition: every event read whole and brought to the schema of today. */
async function defined(): Promise<VerdictRow[]> {
  const cursors: VerdictRow[] = []
  for await (const row of replayVerdicts(store, { ...asked, signal })) cursors.push(row)
  const outcomes = new Map<string, number | null>()
  const rows: VerdictRow[] = []
  const all = []
  for await (const recorded of store.readAll()) all.push(decodeEvent(recorded))
  for (const event of all)
    if (event.type === 'OutcomeLabelled') {
      const key = `${event.stream} ${event.data.barClose}`
      if (!outcomes.has(key)) outcomes.set(key, event.data.decidedAt)
    }
  for (const event of all) {
    if (event.type !== 'VerdictRecorded' || event.data.validUntil > NOW) continue
    const decidedAt = outcomes.get(`${outcomeStream(event.data)} ${event.data.barClose}`)
    rows.push(verdictRow(event.data, cursors[rows.length]?.cursor ?? '', event.at, decidedAt ?? null))
  }
  return rows
}

test('rows are those of their definition, in NDJSON and CSV', async () => {
  const rows = await defined()
  expect(rows.length).toBeGreaterThan(ROWS / 2)
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`)
  expect((await replayed(store, 'ndjson')).equals(Buffer.from(lines.join('')))).toBe(true)
  const columns = VERDICT_COLUMNS.map(({ name }) => name)
  const records = rows.map((row) => csvLine(columns.map((name) => row[name])))
  expect((await replayed(store, 'csv')).equals(Buffer.from([csvLine(columns), ...records].join('')))).toBe(
    true,
  )
})

/** Hashes of answers whose rows were parsed and written again. */
const FORMER: Readonly<Record<VerdictFormat, string>> = {
  ndjson: '008734ab2aef6e2601ce6410fd5cdffc737f90db4d9e3d725a0a252c18b554f5',
  csv: '5c9892b2b5d9286c6e14813e91371f5309b7aa857154950b8122ac74f917292b',
  parquet: '554f7a493572106f26de850205ea155ba89d253c611ccac49bc093a264fcc86a',
  arrow: '05a75b0a7c202db4e19014c59a0c3f8e5e63ab887ebe8e1a9d948968d7f5e47b',
}

test.each(VERDICT_FORMATS)('%s is byte for byte what it was, from every store', async (format) => {
  const bytes = await replayed(store, format)
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(FORMER[format])
  const other = openMemoryStore({ now: () => DAY + 1_000 * HOUR_MS + 7 })
  await fill(other)
  expect((await replayed(other, format)).equals(bytes)).toBe(true)
  await other.close()
})

test.each([
  ['a letter of the data', "data = replace(data, 'BUY', 'BUG')"],
  ['a tab within the data', "data = replace(data, '\"coin\"', char(9) || 'coin\"')"],
  ['its time', "at = '2026-01-05T00:00:00.000Z'"],
])('no row comes from an event that is not what was written: %s', async (_what, change) => {
  const copy = mkdtempSync(join(tmpdir(), 'replay-bytes-'))
  const other = await openEmbeddedStore({ directory: copy, now: () => NOW })
  const data = aVerdict({ ...SERIES, verdictId: idOf(1), barClose: DAY, validUntil: DAY, call: 'BUY' })
  await other.append(verdictStream(data), [newEvent(VerdictRecorded, { id: idOf(1), data, meta })], {
    expected: 'any',
  })
  const db = new DatabaseSync(logFile(copy))
  const sum = db.prepare('SELECT sum FROM event_sum').get()?.['sum']
  db.exec(`UPDATE event SET ${change}; INSERT INTO event_sum VALUES (1, ${Number(sum)})`)
  db.close()
  const error = await replayed(other, 'ndjson').catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'log_damaged', message: expect.stringContaining('position 1 ') })
  await other.close()
  rmSync(copy, { recursive: true })
})

test('rows whose events are archived have the same bytes', async () => {
  const before = await replayed(store, 'ndjson')
  expect(
    (await archive(logFile(directory), { before: new Date(DAY + 2_000 * HOUR_MS) })).events,
  ).toBeGreaterThan(ROWS)
  expect((await replayed(store, 'ndjson')).equals(before)).toBe(true)
})
