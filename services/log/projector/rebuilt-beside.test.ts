import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ServiceEvent, VerdictRecorded } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import type { DataProjection, Projection } from '../../../projections/index.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { uuidV8 } from '../../runtime/ids/uuid.ts'
import type { EventStore } from '../event-store.ts'
import { type ProjectionHealth, startProjector } from './projector.ts'
import { openRowTables, type RowTables } from './row-tables.ts'
import { counter } from './testing/counter.fixture.ts'

const sleep = async (): Promise<void> => undefined
const meta = { correlationId: 'test', actor: 'test' }
let made = 0
let directory: string
let store: EventStore
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'beside-'))
  store = openMemoryStore({ now: () => 0 })
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

async function append(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 200) {
    const events = Array.from({ length: Math.min(left, 200) }, () => {
      const id = uuidV8(Buffer.from((++made).toString(16).padStart(32, '0'), 'hex'))
      return newEvent(VerdictRecorded, { id, data: aVerdict({ verdictId: id }), meta })
    })
    await store.append('verdict-SIM.BTC.1h', events, { expected: 'any' })
  }
}

const openTables = (): RowTables => openRowTables(join(directory, 'projections.db'), 'log-1')
const filesBeside = (): string[] => readdirSync(directory).filter((name) => /row_\w+_\d+$/.test(name))

/** The versions that answered first and last, until all that can be built was. */
async function run(projections: Projection[], tables = openTables()) {
  const problems: ProjectionHealth[] = []
  const projector = startProjector({
    store,
    tables,
    projections,
    sleep,
    onProblem: (health) => problems.push(health),
  })
  const reader = projector.reader(projections[0] as Projection)
  await projector.inService()
  const [atOnce, formerly] = [reader.get('count'), reader.health()]
  await projector.caughtUp()
  const [last, health] = [reader.get('count'), reader.health()]
  await projector.close()
  return { atOnce, formerly, last, health, problems }
}

const watched = (projection: DataProjection, see: (event: ServiceEvent) => void): Projection => ({
  ...projection,
  fold(rows, event) {
    see(event)
    projection.fold(rows, event)
  },
})
const failingAt = (place: string, projection: DataProjection): Projection =>
  watched(projection, ({ position }) => {
    if (position === place) throw new Error('cannot divide by a coin')
  })

test('the version before answers as it stood until the new one is built, and says up to where', async () => {
  await append(3_000)
  await run([counter(1)])
  await append(10)
  const { atOnce, formerly, last, health } = await run([counter(2)])
  expect([atOnce, last]).toEqual([{ n: 3_000 }, { n: 6_020 }])
  expect(formerly).toMatchObject({ version: 2, position: '3000', former: { version: 1 } })
  expect(health).toMatchObject({ state: 'live', position: '3010', comparison: { changed: 3_001 } })
  expect(health.former).toBeUndefined()
  // What is not needed any more goes at the next start.
  expect(await run([counter(3)])).toMatchObject({ atOnce: { n: 6_020 }, last: { n: 9_030 } })
  openTables().close()
  expect(filesBeside()).toEqual(['projections.db.row_counter_3'])
})

test('a build that fails leaves the version before in service, and says why', async () => {
  await append(3_000)
  await run([counter(1)])
  const { last, health, problems } = await run([failingAt('2500', counter(2))])
  expect(last).toEqual({ n: 3_000 })
  expect(health).toMatchObject({
    state: 'stopped',
    detail: 'cannot fold the event at position 2500: cannot divide by a coin',
    position: '3000',
    former: { version: 1, upTo: '2499' },
  })
  expect(problems).toEqual([health])
  // Mended, it goes on where it stopped.
  expect(await run([counter(2)])).toMatchObject({ atOnce: { n: 3_000 }, last: { n: 6_000 } })
})

test.each([
  ['a version whose rows have other members', 1, counter(2, 'shape')],
  ['a version that comes two after it', 1, counter(3)],
  ['a version that must change nothing of another one than it', 1, counter(3, 'nothing')],
  ['an older version', 2, counter(1)],
])('%s is not answered from it', async (_what, before, next) => {
  await append(3_000)
  await run([counter(before)])
  const { atOnce, formerly, last, health } = await run([next])
  expect(atOnce).toBeUndefined()
  expect(formerly.former).toBeUndefined()
  expect([health.state, health.comparison]).toEqual(['live', undefined])
  expect(last).toEqual({ n: 3_000 * next.version })
})

test('damage of the file that is built leaves the version before in service, and only that one is built anew', async () => {
  await append(3_000)
  const other = { ...counter(1), name: 'other' }
  await run([counter(1), other])
  await run([failingAt('2500', counter(2)), other])
  writeFileSync(join(directory, 'projections.db.row_counter_2'), 'this is no database'.repeat(100))
  let folded = 0
  const counted: Projection = { ...other, fold: () => void (folded += 1) }
  expect(await run([counter(2), counted])).toMatchObject({ atOnce: { n: 3_000 }, last: { n: 6_000 } })
  expect(folded).toBe(0)
})

test('damage found while one builds has it begun again; the version before answers', async () => {
  await append(3_000)
  await run([counter(1)])
  const tables = openTables()
  const meanwhile: unknown[] = []
  const damaging: RowTables = {
    ...tables,
    table(name, version) {
      const table = tables.table(name, version)
      return {
        ...table,
        commit(...commit) {
          table.commit(...commit)
          if (version !== 2) return
          if (meanwhile.push(reader.get('count')) > 1) return
          const db = new DatabaseSync(join(directory, 'projections.db.row_counter_2'))
          db.exec(`UPDATE row_counter_2 SET row = '{"n":5}' WHERE key = 'count'`)
          db.close()
        },
      }
    },
  }
  // More rows of a page than stay in memory: the next page reads the damaged one.
  const many: DataProjection = {
    ...counter(2),
    fold(rows, event) {
      counter(2).fold(rows, event)
      rows.put(`also ${event.position}`, {})
    },
  }
  const projector = startProjector({ store, tables: damaging, projections: [many], sleep })
  const reader = projector.reader(many)
  await projector.caughtUp()
  expect(reader.get('count')).toEqual({ n: 6_000 })
  expect(meanwhile.length).toBeGreaterThan(2)
  expect(meanwhile.every((row) => (row as { n: number }).n === 3_000)).toBe(true)
  await projector.close()
})

test('a range of the version before writes nothing of the one that is built', async () => {
  await append(20_000)
  await run([counter(1)])
  const tables = openTables()
  let commits = 0
  const counted: RowTables = {
    ...tables,
    table(name, version) {
      const table = tables.table(name, version)
      return { ...table, commit: (...commit) => (commits++, table.commit(...commit)) }
    },
  }
  const projector = startProjector({ store, tables: counted, projections: [counter(2)], sleep })
  const reader = projector.reader(counter(2))
  await projector.inService()
  let ranges = 0
  while (reader.health().state !== 'live') {
    if (reader.health().former !== undefined) ranges += reader.range({ limit: 1 }).length
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(ranges).toBeGreaterThan(20)
  // After two thousand rows each, and at the end.
  expect(commits).toBeLessThan(13)
  await projector.close()
})

test('what a process left that was killed goes at the next start', async () => {
  await append(10)
  await run([counter(1)])
  writeFileSync(join(directory, 'projections.db.row_counter_7'), 'left')
  openTables().close()
  expect(filesBeside()).toEqual([])
})

test('versions of two read models are in service in one file and beside it, and a lost log empties both', async () => {
  await append(300)
  await run([counter(1), { ...counter(1), name: 'other' }])
  expect(await run([counter(2), { ...counter(1), name: 'other' }])).toMatchObject({ last: { n: 600 } })
  store = openMemoryStore({ now: () => 0 })
  await append(20)
  expect(await run([counter(2)])).toMatchObject({
    last: { n: 40 },
    health: { lostEvent: { position: '300' } },
  })
})

test('callers have their turn between the pages of a build, however many read models are built', async () => {
  await append(4_000)
  const three = (version: number): DataProjection[] =>
    ['one', 'two', 'three'].map((name) => ({ ...counter(version), name }))
  await run(three(1))
  const given = new Map<number, number>()
  const inner = store
  let readings = 0
  store = {
    ...inner,
    async *readAll(options) {
      if (options?.limit !== 1) readings += 1
      for await (const event of inner.readAll(options)) {
        const turn = performance.nodeTiming.uvMetricsInfo.loopCount
        given.set(turn, (given.get(turn) ?? 0) + 1)
        yield event
      }
    },
  }
  await run(three(2))
  expect(readings).toBe(1)
  expect(Math.max(...given.values())).toBeLessThanOrEqual(LIMITS.readPageEvents)
})
