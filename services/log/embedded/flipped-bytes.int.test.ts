import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { NewEvent, RecordedEvent } from '../../../contracts/infra/event.ts'
import { appendNext } from '../../../testing/append-next.ts'
import type { EventStore } from '../event-store.ts'
import { validateAppend } from '../validate-append.ts'
import { checkLog } from './check-log.ts'
import { createBatchCommitter } from './commit-batch.ts'
import { logFile, openEmbeddedStore } from './embedded-store.ts'
import { requireWholeLog } from './log-end.ts'
import { LogReader } from './log-reader.ts'
import { prepareWriter } from './schema.ts'

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
  if (isFaulty(file)) return 'by the check'
  if (isWrong) return 'lost'
  return (await staysRight(file, written)) ? 'harmless' : 'lost'
}

function isFaulty(file: string): boolean {
  try {
    checkLog(file)
    return false
  } catch {
    return true
  }
}

/** Whether all reads as before once more was appended, or the append is refused. */
async function staysRight(file: string, written: string): Promise<boolean> {
  const db = new DatabaseSync(file)
  try {
    prepareWriter(db)
    const committer = createBatchCommitter(db, () => undefined)
    const heads = Array.from({ length: 5 }, (_, coin) =>
      Number(
        db
          .prepare('SELECT max(revision) AS head FROM event WHERE stream = ?')
          .get(`verdict-SIM.C${coin}.1m`)?.['head'] ?? 0,
      ),
    )
    const batch = Array.from({ length: 60 }, (_, index) =>
      validateAppend(
        `verdict-SIM.C${index % 5}.1m`,
        [madeUp({ late: 'x'.repeat(index * 40) })],
        (heads[index % 5] ?? 0) + Math.floor(index / 5),
      ),
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

const madeUp = (data: NewEvent['data'], type = 'VerdictRecorded'): NewEvent => ({
  id: randomUUID(),
  type,
  schema: 1,
  data,
  meta: { correlationId: 'a test', actor: 'test' },
})

/** Verdicts and outcomes of some series, with other streams in between, and keys of subjects where asked for. */
async function appendSeries(store: EventStore, count: number, keysEvery = Infinity): Promise<void> {
  // They are committed in the order in which they are asked for, many at once.
  const appends: Promise<unknown>[] = []
  const heads = new Map<string, number>()
  for await (const { stream, revision } of store.readAll()) heads.set(stream, revision)
  for await (const { stream, revision } of store.read('subject-3.0')) heads.set(stream, revision)
  const append = (stream: string, event: NewEvent): void => {
    const head = heads.get(stream) ?? -1
    heads.set(stream, head + 1)
    appends.push(store.append(stream, [event], { expected: head === -1 ? 'no-stream' : head }))
  }
  for (let made = 0; made < count; made++) {
    const text = `a\ttab, a\nline and ünïcödé ${made} ${'x'.repeat((made * 37) % 900)}`
    const name = `SIM.C${made % 5}.1m`
    append(`verdict-${name}`, madeUp({ text, made }))
    if (made % 2 === 0) append(`outcome-${name}`, madeUp({ made }, 'OutcomeLabelled'))
    if (made % 10 === 0) append('quota-x.2026-11', madeUp({ made }, 'Debited'))
    if (made % keysEvery === 3) append(`subject-${made}.0`, madeUp({ key: made }, 'SubjectKeyCreated'))
    if (made % 100 === 99) await Promise.all(appends.splice(0))
  }
  await Promise.all(appends)
}

async function aLog(name: string): Promise<string> {
  const directory = join(folder, name)
  const store = await openEmbeddedStore({ directory, now: Date.now })
  await appendSeries(store, 500, 50)
  for (const size of [9_000, 30_000]) {
    const large = [1, 2].map(() => madeUp({ text: 'y'.repeat(size) }, 'Large'))
    await appendNext(store, 'large', large)
  }
  await store.close()
  return directory
}

const FOUND = ['at the start', 'when read', 'by the check', 'harmless']
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

  test('in the write-ahead log of a process that was killed, and beside the log', async () => {
    const running = await aLog('running')
    const source = join(folder, 'killed')
    const store = await openEmbeddedStore({ directory: running, now: Date.now })
    await appendSeries(store, 100)
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
})
