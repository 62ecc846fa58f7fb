import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { START } from '../../../contracts/position.ts'
import { encodeAppend } from '../encode-append.ts'
import { openRowTables } from '../projector/row-tables.ts'
import { appendSeries, archive, madeUp } from './archived-log.fixture.ts'
import { createBatchCommitter } from './commit-batch.ts'
import { logFile, openEmbeddedStore } from './embedded-store.ts'
import { LogReader } from './log-reader.ts'
import { requireWholeLog } from './require-whole-log.ts'
import { prepareWriter } from './schema.ts'
import { openScrub, readModelChecks } from './scrub-log.ts'

/** Flips of each kind of page; `FLIPS=300` tries more. */
const FLIPS = Number(process.env.FLIPS ?? 12)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'flips-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Place {
  readonly name: string
  readonly from: number
  readonly bytes: number
}

/** Pages of a database by the tree that they are of; what is in no tree is free. */
function pagesByKind(directory: string, name: string): Map<string, Place[]> {
  const db = new DatabaseSync(join(directory, name), { readOnly: true })
  const kinds = new Map<string, Place[]>()
  const bytes = Number(db.prepare('PRAGMA page_size').get()?.['page_size'])
  const count = Number(db.prepare('PRAGMA page_count').get()?.['page_count'])
  const used = new Map(
    db
      .prepare('SELECT pageno, name, pagetype FROM dbstat')
      .all()
      .map(({ pageno, name: tree, pagetype }) => [Number(pageno), `${String(tree)}, ${String(pagetype)}`]),
  )
  db.close()
  for (let page = 1; page <= count; page++) {
    const kind = used.get(page) ?? 'free'
    kinds.set(kind, [...(kinds.get(kind) ?? []), { name, from: (page - 1) * bytes, bytes }])
  }
  return kinds
}

const wholeFile = (directory: string, name: string): Place => ({
  name,
  from: 0,
  bytes: readFileSync(join(directory, name)).length,
})

/** Draws flips, each in a copy of a folder, and counts what came of them. */
async function tryFlips(
  source: string,
  places: readonly Place[],
  look: (directory: string) => Promise<string> | string,
) {
  const counts: Record<string, number> = {}
  const flip = fc.record({
    place: fc.constantFrom(...places),
    // Without bias, which would flip the first byte of a page again and again.
    share: fc.noBias(fc.integer({ min: 0, max: 999_999 })),
    by: fc.integer({ min: 1, max: 255 }),
  })
  await fc.assert(
    fc.asyncProperty(flip, async ({ place, share, by }) => {
      const directory = mkdtempSync(join(folder, 'flip-'))
      cpSync(source, directory, { recursive: true })
      const file = join(directory, place.name)
      const bytes = readFileSync(file)
      const at = place.from + Math.floor((share / 1_000_000) * place.bytes)
      bytes[at] = (bytes[at] ?? 0) ^ by
      writeFileSync(file, bytes)
      const found = await look(directory)
      counts[found] = (counts[found] ?? 0) + 1
      rmSync(directory, { recursive: true })
      return found !== 'lost'
    }),
    { numRuns: FLIPS },
  )
  return counts
}

async function everything(file: string): Promise<string> {
  const reader = new LogReader(file)
  try {
    const events: RecordedEvent[] = []
    for await (const event of reader.readAll()) events.push(event)
    const lines = events.map((event) => JSON.stringify(event))
    for (const stream of new Set(events.map(({ stream: name }) => name)))
      for await (const event of reader.read(stream)) lines.push(JSON.stringify(event))
    for await (const event of reader.read('subject-3.0')) lines.push(JSON.stringify(event))
    return lines.join('\n')
  } finally {
    reader.close()
  }
}

/** The result of a flip in a log: `lost` where a wrong answer goes unnoticed. */
async function lookAtLog(directory: string, written: string): Promise<string> {
  const file = logFile(directory)
  let isWrong = false
  try {
    requireWholeLog(file)
    const db = new DatabaseSync(file)
    try {
      prepareWriter(db)
      createBatchCommitter(db, () => undefined)
    } finally {
      db.close()
    }
  } catch {
    return 'at the start'
  }
  try {
    isWrong = (await everything(file)) !== written
  } catch {
    return 'when read'
  }
  const found = scrubbed(file)
  if (found !== undefined) return found
  if (isWrong) return 'lost'
  return (await staysRight(file, written)) ? 'harmless' : 'lost'
}

function scrubbed(file: string): string | undefined {
  try {
    const scrub = openScrub(file)
    try {
      const { head } = scrub.state()
      for (let at = 0; at < head; at += LIMITS.scrubSliceEvents)
        if (scrub.slice(at, head).length > 0) return 'by the scrub'
      return scrub.wholeCheck().length > 0 ? 'by the check of pages' : undefined
    } finally {
      scrub.close()
    }
  } catch {
    return 'by the scrub'
  }
}

/** Whether all reads as before once more was appended, or the append is refused. */
async function staysRight(file: string, written: string): Promise<boolean> {
  const db = new DatabaseSync(file)
  try {
    prepareWriter(db)
    const committer = createBatchCommitter(db, () => undefined)
    const batch = Array.from({ length: 60 }, (_, index) =>
      encodeAppend(`verdict-SIM.C${index % 5}.1m`, [madeUp({ late: 'x'.repeat(index * 40) })], 'any'),
    )
    committer.commit(batch, new Date().toISOString())
  } finally {
    db.close()
  }
  const positions = (text: string): string[] => text.split('\n').filter((line) => !line.includes('"late":'))
  try {
    return positions(await everything(file)).join('\n') === written
  } catch {
    return true
  }
}

async function aLog(name: string): Promise<string> {
  const directory = join(folder, name)
  const store = await openEmbeddedStore({ directory, now: Date.now })
  await appendSeries(store, { count: 500, keysEvery: 50 })
  for (const size of [9_000, 30_000]) {
    const large = [1, 2].map(() => madeUp({ text: 'y'.repeat(size) }, 'Large'))
    await store.append('large', large, { expected: 'any' })
  }
  await store.close()
  return directory
}

const FOUND = ['at the start', 'when read', 'by the scrub', 'by the check of pages', 'harmless']
const table: string[] = []
const lostOf = (kind: string, counts: Readonly<Record<string, number>>): number => {
  table.push(`| ${kind} | ${FOUND.map((when) => counts[when] ?? 0).join(' | ')} | ${counts['lost'] ?? 0} |`)
  return counts['lost'] ?? 0
}
/** The counts, for the page on reliability. */
afterAll(() => {
  if (process.env.FLIPS !== undefined)
    process.stdout.write([`| kind | ${FOUND.join(' | ')} | lost |`, ...table, ''].join('\n'))
})

describe('one byte that changed on the disk is found, or nobody reads it', () => {
  test('in each kind of page of a log', async () => {
    const source = await aLog('log')
    const written = await everything(logFile(source))
    for (const [kind, places] of pagesByKind(source, 'events.db'))
      expect(lostOf(kind, await tryFlips(source, places, (directory) => lookAtLog(directory, written)))).toBe(
        0,
      )
  }, 300_000)

  test('in a log that was archived, and in its archive', async () => {
    const source = await aLog('archived')
    const written = await everything(logFile(source))
    await archive(logFile(source))
    expect(await everything(logFile(source))).toBe(written)
    // The scrub takes the checksums that archiving dropped.
    expect(scrubbed(logFile(source))).toBe(undefined)
    const kinds = pagesByKind(source, 'events.db')
    const files = readdirSync(join(source, 'archive')).map((name) => wholeFile(source, join('archive', name)))
    kinds.set('files of the archive', files)
    for (const [kind, places] of kinds)
      expect(
        lostOf(
          `archived: ${kind}`,
          await tryFlips(source, places, (directory) => lookAtLog(directory, written)),
        ),
      ).toBe(0)
  }, 300_000)

  test('in the write-ahead log of a process that was killed, and beside the log', async () => {
    const running = await aLog('running')
    const source = join(folder, 'killed')
    const store = await openEmbeddedStore({ directory: running, now: Date.now })
    await appendSeries(store, { count: 100 })
    cpSync(running, source, { recursive: true, filter: (path) => !path.endsWith('-shm') })
    await store.close()
    const written = await everything(logFile(running))
    for (const name of ['events.db-wal', 'newest-position']) {
      const places = [wholeFile(source, name)]
      expect(lostOf(name, await tryFlips(source, places, (directory) => lookAtLog(directory, written)))).toBe(
        0,
      )
    }
  }, 300_000)

  test('in a log of a former release, once it was scrubbed', async () => {
    const source = await aLog('former')
    const db = new DatabaseSync(logFile(source))
    db.exec('DROP TRIGGER event_changed; DROP TRIGGER event_removed; DROP TABLE event_sum; DROP TABLE scrub')
    db.close()
    const written = await everything(logFile(source))
    const writer = new DatabaseSync(logFile(source))
    prepareWriter(writer)
    writer.close()
    expect(scrubbed(logFile(source))).toBe(undefined)
    const pages = pagesByKind(source, 'events.db').get('event, leaf') ?? []
    expect(
      lostOf(
        'former release: event, leaf',
        await tryFlips(source, pages, (directory) => lookAtLog(directory, written)),
      ),
    ).toBe(0)
  }, 300_000)

  test('in each kind of page of the read models', async () => {
    const source = join(folder, 'rows')
    mkdirSync(source)
    const file = (directory: string): string => join(directory, 'projections.db')
    const rowsOf = (directory: string): string => {
      const tables = openRowTables(file(directory), 'log-1')
      try {
        const rows = []
        for (const name of ['some', 'others', 'beside']) {
          rows.push(tables.states(name), tables.table(name, 1).range({ limit: 1_000 }))
          for (let key = 0; key < 400; key++) rows.push(tables.table(name, 1).get(`key-${key}`) ?? null)
        }
        return JSON.stringify(rows)
      } finally {
        tables.close()
      }
    }
    const tables = openRowTables(file(source), 'log-1')
    for (const name of ['some', 'others']) {
      tables.create(name, 1, 'active')
      const row = (n: number) => [`key-${n}`, { n, text: 'z'.repeat((n * 7) % 300) }] as const
      const rows = new Map(Array.from({ length: 400 }, (_, n) => row(n)))
      tables.table(name, 1).commit(rows, START, '17', { id: 'an id', position: '17' })
    }
    const rows = new Map(Array.from({ length: 400 }, (_, n) => [`key-${n}`, { n }]))
    tables.create('beside', 1, 'building')
    tables.table('beside', 1).commit(rows, START, '17', { id: 'an id', position: '17' })
    tables.close()
    const written = rowsOf(source)
    const look = (directory: string): string => {
      let read: string
      try {
        read = rowsOf(directory)
      } catch {
        return 'when read'
      }
      // Made anew: the projector builds them.
      if (read.startsWith('[[]') || read.includes('"position":"start"')) return 'at the start'
      for (const check of readModelChecks(file(directory))) if (check().length > 0) return 'by the scrub'
      return read === written ? 'harmless' : 'lost'
    }
    for (const [name, what] of [
      ['projections.db', 'read models'],
      ['projections.db.row_beside_1', 'read model beside'],
    ] as const)
      for (const [kind, places] of pagesByKind(source, name))
        expect(lostOf(`${what}: ${kind}`, await tryFlips(source, places, look))).toBe(0)
  }, 300_000)
})
