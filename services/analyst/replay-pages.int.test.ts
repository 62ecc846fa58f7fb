import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { parquetMetadata } from 'hyparquet'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { brokenInvariants } from '../../contracts/assert.ts'
import type { NewEvent } from '../../contracts/event.ts'
import { OutcomeLabelled, VerdictRecorded } from '../../contracts/event-catalogue.ts'
import { newEvent } from '../../contracts/event-definition.ts'
import { outcomeStream, verdictStream } from '../../contracts/streams.ts'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import { aVerdict } from '../../contracts/verdict.fixture.ts'
import { logFile, openEmbeddedStore } from '../log/embedded/embedded-store.ts'
import { openWrittenPages } from '../log/embedded/written-pages.ts'
import type { EventStore, ReadAllOptions } from '../log/event-store.ts'
import { PROCESS_TIME } from '../runtime/admission/line.ts'
import { createTurns } from '../runtime/admission/turns.ts'
import { ROW_LAYOUT } from './formats/verdict-columns.ts'
import { VERDICT_FORMATS, type VerdictFormat } from './formats/verdict-formats.ts'
import { keepPages } from './keep-pages.ts'
import { runPageKeeper } from './page-keeper.ts'
import { AT_START, parseCursor } from './replay-cursor.ts'
import { type ReplayRequest, replaysOnThisThread } from './replay-source.ts'

const START = Date.UTC(2026, 0, 5)
const COINS = 4
const WINDOW = 8
const meta = { correlationId: 'a bar', actor: 'engine' }
const { signal } = new AbortController()
let id = 0
const nextId = (): string => `0190a000-0000-8000-8000-${String(++id).padStart(12, '0')}`

let directory: string
let store: EventStore
let time: number
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'replay-pages-'))
  time = START
  store = await openEmbeddedStore({ directory, now: () => time })
})
afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

const verdictOf = (bar: number, coin: string) => {
  const barClose = START + bar * HOUR_MS
  const validUntil = barClose + WINDOW * HOUR_MS
  return aVerdict({ exchange: 'SIM', coin, timeframe: '1h', barClose, validUntil, verdictId: nextId() })
}

/** The outcome of a bar; every fifth race was decided by none. */
function outcomeAt(bar: number, coin: string): NewEvent {
  const { exchange, timeframe, verdictId, barClose, validUntil, ...verdict } = verdictOf(bar, coin)
  const { modelVersion, call, probability, barrier, forecast, recordedLate } = verdict
  const about = { exchange, coin, timeframe, verdictId, barClose, validUntil, modelVersion, call }
  const decidedAt = bar % 5 === 0 ? null : barClose + HOUR_MS
  const race = decidedAt === null ? ('timeout' as const) : ('up' as const)
  const prices = { entryPrice: 1, exitPrice: 2, highest: 0.1, lowest: null, closePrice: 2 }
  const data = { ...about, probability, barrier, forecast, recordedLate, race, decidedAt, ...prices }
  return newEvent(OutcomeLabelled, { id: nextId(), data, meta })
}

/** Bars as a market records them: the verdicts of all coins, and the outcomes that are due. */
async function record(from: number, to: number, isDue = (_bar: number): boolean => true): Promise<void> {
  const append = (stream: string, event: NewEvent) => store.append(stream, [event], { expected: 'any' })
  for (let bar = from; bar < to; bar++) {
    time = START + bar * HOUR_MS
    const all = Array.from({ length: COINS }, (_, n) => {
      const data = verdictOf(bar, `C${n}`)
      const verdict = append(
        verdictStream(data),
        newEvent(VerdictRecorded, { id: data.verdictId, data, meta }),
      )
      if (bar < WINDOW || !isDue(bar - WINDOW)) return [verdict]
      return [verdict, append(outcomeStream(data), outcomeAt(bar - WINDOW, `C${n}`))]
    })
    await Promise.all(all.flat())
  }
}

const pagesFile = (): string => join(directory, 'replays.db')
const openPages = () => openWrittenPages(pagesFile(), logFile(directory), ROW_LAYOUT)
const turns = () => createTurns({ turnMs: 1, time: PROCESS_TIME })

async function replayed(
  change: Partial<ReplayRequest['options']> = {},
  pages?: ReturnType<typeof openPages>,
  format: VerdictFormat = 'ndjson',
): Promise<Buffer> {
  const options = { filter: {}, after: AT_START, limit: 1_000_000, now: Date.UTC(2027, 0, 1), ...change }
  const replay = replaysOnThisThread(store, turns(), pages?.pagesOf)
  const parts: Buffer[] = []
  for await (const chunk of replay({ options, format, owner: 'one', signal }).chunks)
    parts.push(Buffer.from(chunk))
  return Buffer.concat(parts)
}

/** By format, how many are kept. */
function keptPages(): Record<string, number> {
  if (!existsSync(pagesFile())) return {}
  const db = new DatabaseSync(pagesFile(), { readOnly: true })
  const rows = db
    .prepare(
      "SELECT substr(name, 1, instr(name, ' ') - 1) AS format, count(*) AS pages FROM page GROUP BY format",
    )
    .all()
  db.close()
  return Object.fromEntries(rows.map(({ format, pages }) => [String(format), Number(pages)]))
}

const SHORT_PAGES = VERDICT_FORMATS.filter((format) => format !== 'parquet')

test.each(SHORT_PAGES)('%s from kept pages has the rows that it has from the log', async (format) => {
  await record(0, 160)
  const plain = await replayed({}, undefined, format)
  const pages = openPages()
  const [first, second] = [await replayed({}, pages, format), await replayed({}, pages, format)]
  pages.close()
  expect(second.equals(first)).toBe(true)
  expect(keptPages()).toEqual({ [format]: 4 })
  // A batch of Arrow is as long as a page.
  if (format !== 'arrow') expect(first.equals(plain)).toBe(true)
})

/** Two pages of Parquet, and a part of a third. */
async function recordLong(bars: number): Promise<void> {
  for (let bar = 0; bar < bars; bar += 50) {
    const some = Array.from({ length: 50 }, (_, n) => {
      const { forecast, factors, ...rest } = verdictOf(bar + n, 'C0')
      // They are longer than a page of a column may be.
      const many = Array.from({ length: 12 }, () => factors.map((one) => ({ ...one, value: bar + n }))).flat()
      return { ...rest, forecast: n % 3 === 0 ? null : forecast, factors: many, reasoning: `é ${n}` }
    })
    const verdicts = some.map((data) => newEvent(VerdictRecorded, { id: data.verdictId, data, meta }))
    const outcomes = some.map((_, n) => outcomeAt(bar + n, 'C0'))
    const [about] = some
    if (about === undefined) return
    await store.append(verdictStream(about), verdicts, { expected: 'any' })
    await store.append(outcomeStream(about), outcomes, { expected: 'any' })
  }
}

test('Parquet from kept pages has the rows that it has from the log, for another reader, too', async () => {
  await recordLong(4_300)
  const pages = openPages()
  for (const change of [{}, { limit: 4_200 }, { after: parseCursor('3900') ?? AT_START }, {}]) {
    const plain = await replayed(change, undefined, 'parquet')
    const kept = await replayed(change, pages, 'parquet')
    for (const [name, bytes] of Object.entries({ plain, kept }))
      writeFileSync(join(directory, `${name}.parquet`), bytes)
    const rows = parquetMetadata(new Uint8Array(plain).buffer).num_rows
    expect(parquetMetadata(new Uint8Array(kept).buffer).num_rows).toBe(rows)
    const duck = await (await DuckDBInstance.create(':memory:')).connect()
    const [one, other] = ['plain', 'kept'].map((name) => `(FROM '${join(directory, `${name}.parquet`)}')`)
    const late = "bar_close >= '2026-03-01' AND closes_higher IS NOT NULL"
    const answer = await duck.runAndReadAll(
      `SELECT (SELECT count(*) FROM ${one} a POSITIONAL JOIN ${other} b WHERE a IS NOT DISTINCT FROM b) AS same,
        (SELECT count(*) FROM ${one} WHERE ${late}) = (SELECT count(*) FROM ${other} WHERE ${late}) AS found`,
    )
    expect(answer.getRowObjects()).toEqual([{ same: rows, found: true }])
  }
  expect(keptPages()).toEqual({ parquet: 2 })
  const again = [await replayed({}, pages, 'parquet'), await replayed({}, pages, 'parquet')]
  expect(again[0]?.equals(again[1] ?? Buffer.alloc(0))).toBe(true)
  const { row_groups: groups } = parquetMetadata(new Uint8Array(again[0] ?? []).buffer)
  expect(groups.map(({ num_rows }) => num_rows)).toEqual([2_000n, 2_000n, 300n])
  // Its texts take two pages in each of the long groups: where they are was written anew.
  const indexed = groups.map(({ columns }) => columns.filter((one) => one.offset_index_offset !== undefined))
  expect(indexed.map(({ length }) => length)).toEqual([1, 1, 0])
  pages.close()
}, 60_000)

test('pages of Parquet are as this version of the writer has them: raise VERSION of their layout with it', () => {
  const root = join(import.meta.dirname, '../..', 'package.json')
  expect(readFileSync(root, 'utf8')).toContain('"hyparquet-writer": "0.17.0"')
})

test('any requests, while the log grows and outcomes come, are answered as without pages', async () => {
  const step = fc.record({
    bars: fc.nat(30),
    labelled: fc.boolean(),
    requests: fc.array(
      fc.record({
        limit: fc.oneof(fc.constant(1_000_000), fc.integer({ min: 1, max: 400 })),
        goOn: fc.boolean(),
        /** Bars behind the newest one. */
        behind: fc.nat(200),
        format: fc.constantFrom('ndjson' as const, 'csv' as const),
      }),
      { maxLength: 4 },
    ),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      await store.close()
      rmSync(directory, { recursive: true })
      store = await openEmbeddedStore({ directory, now: () => time })
      let pages = openPages()
      let bar = 0
      let after = AT_START
      for (const { bars, labelled, requests } of steps) {
        await record(bar, (bar += bars), () => labelled)
        for (const { limit, goOn, behind, format } of requests) {
          const now = START + (bar - behind) * HOUR_MS
          const asked = { limit, now, after: goOn ? after : AT_START }
          const found = await replayed(asked, pages, format)
          expect(found.toString()).toBe((await replayed(asked, undefined, format)).toString())
          const [, cursor] = /"?cursor"?:?.*"([\d~]+)",[^\n]*\n$/.exec(found.toString()) ?? []
          after = parseCursor(cursor ?? '') ?? after
          if (limit < 100) await keepPages(store, pages.pagesOf)
        }
        pages.close()
        pages = openPages()
      }
      pages.close()
    }),
    { numRuns: 15 },
  )
}, 60_000)

test('a page waits for the last of its outcomes, and shows it then', async () => {
  await record(0, 80, (bar) => bar < 3)
  const pages = openPages()
  await replayed({}, pages)
  expect(keptPages()).toEqual({})
  for (let bar = 3; bar < 80; bar++)
    for (let n = 0; n < COINS; n++)
      await store.append(outcomeStream(verdictOf(bar, `C${n}`)), [outcomeAt(bar, `C${n}`)], {
        expected: 'any',
      })
  const expected = await replayed()
  expect(
    [await replayed({}, pages), await replayed({}, pages)].every((found) => found.equals(expected)),
  ).toBe(true)
  expect(keptPages()).toEqual({ ndjson: 2 })
  pages.close()
})

test('a request that begins within a page, is of an earlier time or of fewer rows, is answered as without pages', async () => {
  await record(0, 160)
  const pages = openPages()
  for (const change of [
    { after: parseCursor('100') ?? AT_START },
    {},
    { now: START + 40 * HOUR_MS },
    { now: START + 100 * HOUR_MS, limit: 300 },
    { after: parseCursor('250') ?? AT_START, limit: 120 },
    { after: parseCursor('100') ?? AT_START },
    { upTo: '510' },
    { upTo: new Date(START + 90 * HOUR_MS) },
    { filter: { calls: ['BUY' as const] } },
    { now: Number.POSITIVE_INFINITY },
  ])
    expect((await replayed(change, pages)).toString()).toBe((await replayed(change)).toString())
  pages.close()
})

test('kept pages are not read from the log', async () => {
  await record(0, 160)
  const pages = openPages()
  await replayed({}, pages)
  const read: string[] = []
  const counting = {
    ...store,
    read: store.read.bind(store),
    head: () => store.head(),
    readAll(options: ReadAllOptions = {}) {
      read.push(String(options.after))
      return store.readAll(options)
    },
  }
  const options = { filter: {}, after: AT_START, limit: 1_000_000, now: Date.UTC(2027, 0, 1) }
  const replay = replaysOnThisThread(counting, turns(), pages.pagesOf)
  for await (const _ of replay({ options, format: 'ndjson', owner: 'one', signal }).chunks);
  // The fifth page has verdicts without an outcome, and is the last.
  expect(read).toEqual(['1000'])
  pages.close()
})

const WRONG: Readonly<Record<string, string>> = {
  'other bytes': "UPDATE page SET packed = CAST('x' || substr(packed, 2) AS BLOB) WHERE name = 'ndjson 1'",
  'another number of rows': "UPDATE page SET rows = rows - 1 WHERE name = 'ndjson 2'",
  'the place of another':
    "UPDATE page SET name = 'x ' || name; UPDATE page SET name = 'ndjson ' || (3 - substr(name, 10))",
  'a later end of its windows': "UPDATE page SET closedAt = 0 WHERE name = 'ndjson 0'",
}

test.each(Object.entries(WRONG))(
  'a page with %s is not shown, and the file is begun anew',
  async (_, sql) => {
    await record(0, 160)
    const expected = await replayed()
    let pages = openPages()
    await replayed({}, pages)
    pages.close()
    const db = new DatabaseSync(pagesFile())
    db.exec(sql)
    db.close()
    pages = openPages()
    const found = [await replayed({}, pages), existsSync(pagesFile())] as const
    expect([found[0].equals(expected), found[1]]).toEqual([true, false])
    expect(brokenInvariants().get('a kept page of replays is what was written')).toBeGreaterThan(0)
    pages = openPages()
    await replayed({}, pages)
    expect(keptPages()).toEqual({ ndjson: 4 })
    pages.close()
  },
)

test('a file that is no database, or of another layout, is begun anew', async () => {
  await record(0, 160)
  const expected = await replayed()
  writeFileSync(pagesFile(), 'no database '.repeat(1_000))
  let pages = openPages()
  expect((await replayed({}, pages)).equals(expected)).toBe(true)
  pages = openPages()
  expect((await replayed({}, pages)).equals(expected)).toBe(true)
  pages.close()
  expect(keptPages()).toEqual({ ndjson: 4 })
  const db = new DatabaseSync(pagesFile())
  db.exec('PRAGMA user_version = 1')
  db.close()
  pages = openPages()
  expect(pages.pagesOf('ndjson').get(0)).toBeUndefined()
  expect(keptPages()).toEqual({})
  pages.close()
})

test('pages of a log that lost its end, and went on, are forgotten', async () => {
  await record(0, 160)
  const pages = openPages()
  await replayed({}, pages)
  pages.close()
  await store.close()
  const db = new DatabaseSync(logFile(directory))
  const { newest } = db.prepare('SELECT max(position) AS newest FROM event').get() as { newest: number }
  // The same facts have the same ids, and come later.
  db.exec(`UPDATE event SET at = '2027-01-01T00:00:00.000Z' WHERE position = ${newest}`)
  db.close()
  store = await openEmbeddedStore({ directory, now: () => time })
  const again = openPages()
  expect(again.pagesOf('ndjson').get(0)).toBeUndefined()
  again.close()
  expect(keptPages()).toEqual({})
})

test('no page is kept where the disk has little room: the log needs it', async () => {
  await record(0, 80)
  const expected = await replayed()
  for (const [free, kept] of [
    [999_999_999, {}],
    [1_000_000_000, { ndjson: 2 }],
  ] as const) {
    const pages = openWrittenPages(pagesFile(), logFile(directory), ROW_LAYOUT, () => free)
    expect((await replayed({}, pages)).equals(expected)).toBe(true)
    pages.close()
    expect(keptPages()).toEqual(kept)
  }
})

test('a folder that takes no file answers from the log', async () => {
  await record(0, 80)
  const pages = openWrittenPages(
    join(directory, 'no', 'such', 'folder', 'replays.db'),
    logFile(directory),
    ROW_LAYOUT,
  )
  expect((await replayed({}, pages)).equals(await replayed())).toBe(true)
  pages.close()
})

describe('pages that nobody asked for', () => {
  /** Keeps them, and counts the events of the log that are read for it. */
  async function keep({ pagesOf }: ReturnType<typeof openPages>, openRows?: number): Promise<number> {
    let events = 0
    async function* readAll(options: ReadAllOptions = {}) {
      for await (const event of store.readAll(options)) {
        events += 1
        yield event
      }
    }
    const log = { ...store, read: store.read.bind(store), head: () => store.head(), readAll }
    await keepPages(log, pagesOf, openRows)
    return events
  }

  test.each(SHORT_PAGES)('are kept as NDJSON and, where somebody asked for it, as %s', async (format) => {
    await record(0, 160)
    const plain = openPages()
    const expected = await replayed({}, plain, format)
    plain.close()
    rmSync(pagesFile())
    const pages = openPages()
    await replayed({ limit: 250 }, pages, format)
    await keep(pages)
    expect(keptPages()).toEqual({ ndjson: 4, [format]: 4 })
    expect((await replayed({}, pages, format)).equals(expected)).toBe(true)
    pages.close()
  })

  test('are written once, and no further than where many rows may change yet', async () => {
    await record(0, 400, (bar) => bar < 150)
    const pages = openPages()
    const [all, some] = [await keep(pages), await keep(pages, 300)]
    expect(keptPages()).toEqual({ ndjson: 4 })
    expect([all > 1_500, some < 800]).toEqual([true, true])
    pages.close()
  })

  test('are not written where there is no room, and the log is not read for them', async () => {
    await record(0, 400)
    const full = openWrittenPages(pagesFile(), logFile(directory), ROW_LAYOUT, () => 0)
    expect(await keep(full)).toBeLessThan(600)
    full.close()
    expect(keptPages()).toEqual({})
  })

  test('come from a process beside the service, which says what it failed of', async () => {
    await record(0, 160)
    const problems: string[] = []
    const run = async (until: () => void): Promise<void> => {
      const ending = new AbortController()
      const failed = (problem: string): void => void problems.push(problem)
      const soon = { sleep: (milliseconds: number) => sleep(milliseconds / 1_000_000) }
      const keeper = runPageKeeper(logFile(directory), failed, soon, ending.signal)
      // The file is there before its tables are.
      await vi.waitFor(until, { timeout: 20_000 })
      ending.abort()
      await keeper
    }
    await run(() => expect(keptPages()).toEqual({ ndjson: 4 }))
    expect(problems).toEqual([])
    const damaged = new DatabaseSync(logFile(directory))
    damaged.exec('UPDATE event_sum SET sum = sum + 1 WHERE position > 1000')
    damaged.close()
    await run(() => expect(problems.length).toBeGreaterThan(1))
    expect(problems[1]).toContain('position 1001 ')
  })

  test('are not written on when the service that wanted them is gone', async () => {
    await record(0, 700)
    const script = join(import.meta.dirname, '..', 'keep-pages.ts')
    const keeper = spawn(process.execPath, [script, logFile(directory)])
    keeper.stdin.end()
    expect(await once(keeper, 'exit')).toEqual([0, null])
    expect(keptPages().ndjson ?? 0).toBeLessThan(20)
  })
})

/** Writes pages over one another until it is killed. */
const WRITER = `
const [pages, file, log, layout] = process.argv.slice(1)
const { openWrittenPages } = await import(pages)
const { put } = openWrittenPages(file, log, Number(layout)).pagesOf('ndjson')
for (let page = 0; ; page = (page + 1) % 20) {
  put(page, { rows: page, closedAt: 0, bytes: Buffer.from(('page ' + page + ' ').repeat(20_000)) })
  if (page === 0) process.stdout.write('.')
}`

test('a page is whole or absent, whenever two processes that write it are killed', {
  timeout: 60_000,
}, async () => {
  await record(0, 80)
  const module = new URL('../log/embedded/written-pages.ts', import.meta.url).href
  const args = ['--input-type=module', '--eval', WRITER, module, pagesFile(), logFile(directory)]
  let found = 0
  for (let round = 0; round < 8; round++) {
    const writers = [1, 2].map(() => spawn(process.execPath, [...args, String(ROW_LAYOUT)]))
    const exits = writers.map((writer) => once(writer, 'exit'))
    await Promise.all(writers.map((writer) => once(writer.stdout, 'data')))
    await sleep(7 * round)
    for (const writer of writers) writer.kill('SIGKILL')
    await Promise.all(exits)
    const pages = openPages()
    for (let page = 0; page < 20; page++) {
      const kept = pages.pagesOf('ndjson').get(page)
      if (kept === undefined) continue
      found += 1
      expect([kept.rows, Buffer.from(kept.bytes).toString()]).toEqual([page, `page ${page} `.repeat(20_000)])
    }
    pages.close()
  }
  expect(found).toBeGreaterThan(20)
})
