import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../contracts/timeframes.ts'
import { appendFacts, outcomeLabelled, verdictRecorded } from '../../../projections/given-events.fixture.ts'
import { PROJECTIONS, type Projection } from '../../../projections/index.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../../log/event-store.ts'
import { startProjector } from '../../log/projector/projector.ts'
import { openRowTables } from '../../log/projector/row-tables.ts'
import { tableName } from '../../log/projector/rows-file.ts'
import { counter } from '../../log/projector/testing/counter.fixture.ts'
import { openFolderPlace } from '../backup/folder-place.ts'
import { openPlace } from '../backup/open-place.ts'
import type { BackupPlace } from '../backup/place.ts'
import { startS3Double } from '../backup/testing/s3-double.fixture.ts'
import { type BeginOptions, beginFromSnapshot } from './begin-from-snapshot.ts'
import { keepSnapshots, type SnapshotReport, takeInThread } from './keep-snapshots.ts'
import { type SnapshotOptions, takeSnapshot } from './take-snapshot.ts'

const KEYS = { known: [Buffer.alloc(32, 1)], used: 0 }
const LOG = '0190a000-0000-7000-8000-00000000000a'
const sleep = async (): Promise<void> => undefined

let directory: string
let now: number
let store: EventStore
let place: BackupPlace
let refusals: string[]
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'snapshots-'))
  now = Date.parse('2026-11-24T12:00:00Z')
  store = openMemoryStore({ now: () => now })
  place = openFolderPlace(join(directory, 'place'))
  refusals = []
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const fileOf = (process: string): string => join(directory, `${process}.db`)
const tablesOf = (projections: readonly Projection[]): string[] =>
  projections.map(({ name, version }) => tableName(name, version))

let bars = 0
async function append(count: number): Promise<void> {
  for (let left = count; left > 0; left--) {
    const bar = {
      coin: ['BTC', 'ETH', 'SOL'][left % 3] ?? '',
      barClose: ++bars * HOUR_MS,
      verdictId: randomUUID(),
    }
    await appendFacts(store, verdictRecorded(bar))
    const { stream, event } = outcomeLabelled(bar)
    if (left % 4 === 0) await appendFacts(store, { stream, event: { ...event, id: randomUUID() } })
  }
}

/** Lets a process follow the log to its end. @returns its rows, and how many events it read */
async function run(process: string, projections: readonly Projection[] = PROJECTIONS) {
  let read = 0
  const counted: EventStore = {
    ...store,
    async *readAll(options) {
      for await (const event of store.readAll(options)) {
        read += 1
        yield event
      }
    },
  }
  const tables = openRowTables(process === '' ? ':memory:' : fileOf(process), LOG)
  const rows: Record<string, unknown[]> = {}
  const projector = startProjector({
    store: counted,
    projections,
    sleep,
    tables: {
      ...tables,
      close() {
        for (const { name, version } of projections) rows[name] = [...tables.table(name, version).entries()]
        tables.close()
      },
    },
  })
  await projector.caughtUp()
  const states = projector.health().map(({ state }) => state)
  expect(new Set(states)).toEqual(new Set(['live']))
  await projector.close()
  return { rows, read }
}

const take = (process: string, more: Partial<SnapshotOptions> = {}) =>
  takeSnapshot({
    file: fileOf(process),
    logId: LOG,
    tables: tablesOf(PROJECTIONS),
    place,
    keys: KEYS,
    everyMs: HOUR_MS,
    now: () => now,
    partBytes: 20_000,
    ...more,
  })

const begin = (process: string, more: Partial<BeginOptions> = {}) =>
  beginFromSnapshot({
    file: fileOf(process),
    logId: LOG,
    tables: tablesOf(PROJECTIONS),
    place,
    keys: KEYS,
    store,
    refused: (what, reason) => refusals.push(`${what}: ${reason}`),
    ...more,
  })

const files = (): readonly string[] => readdirSync(join(directory, 'place', 'read-models')).toSorted()
const lists = (): readonly string[] => files().filter((name) => name.endsWith('.json'))

describe.each(['a folder', 'a bucket'])('over %s', (kind) => {
  let close: () => Promise<void> = async () => undefined
  beforeEach(async () => {
    if (kind === 'a folder') return
    const credentials = { keyId: 'AKIAIOSFODNN7EXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' }
    const double = await startS3Double({
      bucket: 'rows',
      region: 'eu-central-1',
      credentials,
      now: () => now,
    })
    close = double.close
    place = openPlace('s3://rows/read/models', {
      environment: {
        AWS_ENDPOINT_URL_S3: double.endpoint,
        AWS_REGION: 'eu-central-1',
        AWS_ACCESS_KEY_ID: credentials.keyId,
        AWS_SECRET_ACCESS_KEY: credentials.secret,
      },
      holder: 'test',
      now: () => now,
      sleep,
    })
  })
  afterEach(() => close())

  test('a process without rows begins with those of another, and has what a rebuild has', async () => {
    await append(60)
    await run('one')
    expect(await take('one')).toBe(now)
    await append(5)
    expect(await begin('two')).toEqual({ takenAt: now, position: expect.any(String) })
    const begun = await run('two')
    expect(begun.rows).toEqual((await run('')).rows)
    expect(begun.read).toBeLessThan(15)
    expect(refusals).toEqual([])
    // A process that has rows keeps them.
    expect(await begin('two')).toBeUndefined()
  })

  test('processes take one in turn, two stay, and parts that nobody completed go after a day', async () => {
    await append(12)
    await run('one')
    await place.put(
      `read-models/${'0'.repeat(16)}-${String(now - 2 * DAY_MS).padStart(14, '0')}-00000000.0`,
      Buffer.from('left'),
    )
    for (let hours = 0; hours < 4; hours++) {
      expect([await take('one'), await take('one')]).toEqual([now, now])
      now += HOUR_MS
    }
    const names = (await place.list('read-models/')).filter((name) => name.endsWith('.json'))
    expect(names).toHaveLength(2)
    expect((await place.list('read-models/')).some((name) => name.includes('0'.repeat(16)))).toBe(false)
    expect(await begin('two')).toMatchObject({ takenAt: now - HOUR_MS })
  })
})

test('whatever was appended before and after, rows are those of a rebuild', async () => {
  const count = fc.integer({ min: 1, max: 40 })
  let runs = 0
  await fc.assert(
    fc.asyncProperty(count, count, async (before, after) => {
      const [one, two] = [`one${++runs}`, `two${runs}`]
      await append(before)
      await run(one)
      now += HOUR_MS
      await take(one)
      await append(after)
      expect(await begin(two)).toMatchObject({ takenAt: now })
      expect((await run(two)).rows).toEqual((await run('')).rows)
    }),
    { numRuns: 8 },
  )
})

test('a version in a file of its own is part of it, and its newest event counts', async () => {
  await append(30)
  await run('one', [counter(1), ...PROJECTIONS])
  await run('one', [counter(2), ...PROJECTIONS])
  // Read by this one alone, so that the newest event stands in its own file.
  await append(7)
  const projections = [counter(2), ...PROJECTIONS.filter(({ name }) => name === 'losses')]
  const { rows } = await run('one', projections)
  const tables = tablesOf(projections)
  expect(existsSync(`${fileOf('one')}.row_counter_2`)).toBe(true)
  expect(await take('one', { tables })).toBe(now)
  expect(await begin('two', { tables })).toBeDefined()
  const begun = await run('two', projections)
  expect(begun).toEqual({ rows, read: 1 })
})

describe('is not begun with', () => {
  beforeEach(async () => {
    await append(60)
    await run('one')
    await take('one')
  })
  const part = (): string => `read-models/${files().find((name) => name.endsWith('.0'))}`
  const list = (): string => `read-models/${lists()[0]}`
  const changed = async (name: string, change: (body: Buffer) => Buffer): Promise<Partial<BeginOptions>> => {
    await place.put(name, change((await place.get(name)) ?? Buffer.alloc(0)))
    return {}
  }
  const flipped = (body: Buffer): Buffer => {
    const other = Buffer.from(body)
    const at = Math.floor(other.length / 2)
    other[at] = (other[at] ?? 0) ^ 1
    return other
  }

  test.each<[string, () => Promise<Partial<BeginOptions>>, RegExp]>([
    ['a byte of a part was changed', () => changed(part(), flipped), /is damaged/],
    ['a byte of its list was changed', () => changed(list(), flipped), /is damaged/],
    ['a part is cut off', () => changed(part(), (body) => body.subarray(0, 50)), /is damaged/],
    ['a part is missing', () => place.remove(part()).then(() => ({})), /is missing/],
    [
      'another key is used here',
      async () => ({ keys: { known: [Buffer.alloc(32, 2)], used: 0 } }),
      /signed with/,
    ],
    [
      'its key was replaced',
      async () => ({ keys: { known: [...KEYS.known, Buffer.alloc(32, 2)], used: 1 } }),
      /not signed with the key that signs now/,
    ],
    ['the log is another', async () => ({ logId: randomUUID() }), /none of its 1 snapshots/],
    [
      'a read model has another version',
      async () => ({ tables: [...tablesOf(PROJECTIONS).slice(1), 'row_accounts_999'] }),
      /none of its 1 snapshots/,
    ],
    [
      'the log was restored from an older copy',
      async () => {
        store = openMemoryStore({ now: () => now })
        await append(10)
        return { store }
      },
      /is not in the log/,
    ],
    [
      'it is a snapshot of another log under this name',
      async () => {
        const logId = randomUUID()
        const [first = ''] = lists()
        await take('one', { logId })
        const other = lists().find((name) => name !== first) ?? ''
        await place.put(`read-models/${other}`, (await place.get(`read-models/${first}`)) ?? Buffer.alloc(0))
        return { logId }
      },
      /not under this name/,
    ],
    [
      'nothing can be listed',
      async () => ({ place: { ...place, list: async () => Promise.reject(new Error('no route')) } }),
      /no route/,
    ],
  ])('where %s', async (_what, spoil, reason) => {
    expect(await begin('two', await spoil())).toBeUndefined()
    expect(refusals.join()).toMatch(reason)
    expect(readdirSync(directory).filter((name) => name.startsWith('two'))).toEqual(['two.db.lock'])
    // The start goes on with the log.
    expect((await run('two')).rows).toEqual((await run('')).rows)
  })

  test('where it is damaged, and the one before is', async () => {
    now += HOUR_MS
    await append(4)
    await run('one')
    await take('one')
    await changed(`read-models/${lists().at(-1)}`, flipped)
    expect(await begin('two')).toMatchObject({ takenAt: now - HOUR_MS })
    expect((await run('two')).rows).toEqual((await run('')).rows)
  })
})

test('a process that ends while it writes leaves nothing to begin with, and the next one completes its own', async () => {
  await append(60)
  await run('one')
  let whole = 0
  const counting = {
    ...place,
    put: async (name: string, body: Uint8Array) => place.put(name, body).then(() => void whole++),
  }
  await take('one', { place: counting, now: () => now - 2 * HOUR_MS })
  await place.remove(`read-models/${lists()[0]}`)
  expect(whole).toBeGreaterThan(3)
  for (let steps = 0; steps < whole; steps++) {
    let left = steps
    const ending = {
      ...place,
      put: async (name: string, body: Uint8Array) =>
        left-- > 0 ? place.put(name, body) : Promise.reject(new Error('killed')),
    }
    await expect(take('one', { place: ending })).rejects.toThrow('killed')
    expect(await begin('two')).toBeUndefined()
    expect(existsSync(`${fileOf('one')}.snapshot`)).toBe(false)
  }
  await take('one')
  expect(await begin('two')).toBeDefined()
})

test('a process that is killed while it takes one leaves the former one, or a whole new one', async () => {
  await append(60)
  await run('one')
  const child = join(import.meta.dirname, 'testing/take-child.ts')
  const given = [fileOf('one'), LOG, join(directory, 'place'), tablesOf(PROJECTIONS).join()]
  let torn = 0
  for (const milliseconds of fc.sample(fc.integer({ min: 0, max: 150 }), 12)) {
    await append(2)
    await run('one')
    const taking = spawn(process.execPath, [child, ...given], { stdio: ['ignore', 'pipe', 'inherit'] })
    const told: number[] = []
    taking.stdout
      .setEncoding('utf8')
      .on('data', (text: string) => told.push(...text.trim().split('\n').map(Number)))
    const ended = once(taking, 'close')
    while (told.length < 2) await once(taking.stdout, 'data')
    await delay(milliseconds)
    taking.kill('SIGKILL')
    await ended
    const begun = await begin('two')
    expect(begun?.takenAt, `killed after ${milliseconds} ms`).toBeGreaterThanOrEqual(told.at(-1) ?? Infinity)
    const two = await run('two')
    expect(two.rows).toEqual((await run('')).rows)
    // At most what was appended since the former one.
    expect(two.read).toBeLessThan(5)
    rmSync(fileOf('two'))
    const listed = new Set(lists().map((name) => name.slice(0, -'.json'.length)))
    torn += Number(files().some((name) => !listed.has(name.replace(/\.(json|\d+)$/, ''))))
  }
  // Nearly all of these moments are in the middle of one.
  expect(torn).toBeGreaterThan(0)
  expect(refusals).toEqual([])
}, 60_000)

test('two that write at once leave two that are whole', async () => {
  await append(60)
  await run('one')
  await run('other')
  await Promise.all([take('one'), take('other')])
  expect(lists().length).toBe(2)
  for (const gone of lists()) {
    rmSync(fileOf('two'), { force: true })
    expect(await begin('two')).toBeDefined()
    await place.remove(`read-models/${gone}`)
  }
})

test('rows that are used by another process are left alone', async () => {
  const tables = openRowTables(fileOf('two'), LOG)
  rmSync(fileOf('two'))
  await expect(begin('two')).rejects.toMatchObject({ code: 'store_locked' })
  tables.close()
})

test('a thread takes one while the rows are written, and tries again after a failure', async () => {
  await append(40)
  await run('one')
  const data = {
    file: fileOf('one'),
    logId: LOG,
    tables: tablesOf(PROJECTIONS),
    keys: KEYS,
    everyMs: HOUR_MS,
    holder: 'test',
  }
  const ending = new AbortController()
  const reports: SnapshotReport[] = []
  let address = 's3://not a bucket'
  await keepSnapshots({
    everyMs: HOUR_MS,
    isWhole: () => true,
    take: () => takeInThread({ ...data, address }, ending.signal),
    report: (report) => reports.push(report),
    now: Date.now,
    async sleep() {
      if (reports.length > 1) ending.abort()
      address = join(directory, 'place')
    },
    signal: ending.signal,
  })
  expect(reports).toEqual([
    { problem: expect.stringContaining('neither a folder nor') },
    { takenAt: expect.any(Number) },
  ])
  expect(await begin('two')).toMatchObject({ takenAt: reports[1]?.takenAt })
})
