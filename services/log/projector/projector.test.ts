import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { RACE_OUTCOMES } from '../../../contracts/domain/outcome.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import { CALLS, REGIMES } from '../../../contracts/domain/verdict.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { decodeEvent, VerdictRecorded } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { verdictStream } from '../../../contracts/events/streams.ts'
import type { NewEvent } from '../../../contracts/infra/event.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { START } from '../../../contracts/infra/position.ts'
import { outcomeLabelled } from '../../../projections/given-events.fixture.ts'
import {
  latestVerdicts,
  PROJECTIONS,
  type Projection,
  type Rows,
  regimeShifts,
  rowsInMemory,
  verdictIndex,
} from '../../../projections/index.ts'
import { appendNext } from '../../../testing/append-next.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { uuidV8 } from '../../runtime/ids/uuid.ts'
import { collect } from '../event-store.contract.ts'
import type { EventStore } from '../event-store.ts'
import { type ProjectionHealth, type Projector, startProjector } from './projector.ts'
import { openRowTables, type RowTables } from './row-tables.ts'

const HOUR_MS = 3_600_000
let made = 0
const nextId = (): string => uuidV8(Buffer.from((++made).toString(16).padStart(32, '0'), 'hex'))
const meta = { correlationId: 'test', actor: 'test' }

const recorded = (change: Parameters<typeof aVerdict>[0]): NewEvent => {
  const id = nextId()
  return newEvent(VerdictRecorded, { id, data: aVerdict({ ...change, verdictId: id }), meta })
}

/** Appends any valid history: verdicts of a few series. */
async function appendHistory(store: EventStore, history: readonly Step[]): Promise<void> {
  for (const [n, said] of history.entries()) {
    const series = { exchange: 'SIM', coin: said.coin, timeframe: '1h' } as const
    const verdict = recorded({ ...series, ...said, barClose: (n + 1) * HOUR_MS })
    await appendNext(store, verdictStream(series), [verdict])
  }
}

/** Labels verdicts of a history, with races that end in turn in every way. */
async function appendOutcomes(store: EventStore, history: readonly Step[]): Promise<void> {
  for (const [n, { coin, call }] of history.entries()) {
    const race = RACE_OUTCOMES[n % RACE_OUTCOMES.length] ?? 'timeout'
    const { stream, event } = outcomeLabelled({ coin, call, race, barClose: (n + 1) * HOUR_MS })
    await appendNext(store, stream, [{ ...event, id: nextId() }])
  }
}

const steps = fc.array(
  fc.record({
    coin: fc.constantFrom('BTC', 'ETH', 'SOL'),
    regime: fc.constantFrom(...REGIMES),
    call: fc.constantFrom(...CALLS),
  }),
  { minLength: 1, maxLength: 40 },
)
type Step = { coin: string; regime: (typeof REGIMES)[number]; call: (typeof CALLS)[number] }
const step = (coin = 'BTC'): Step => ({ coin, regime: 'RANGING', call: 'BUY' })

/** An event that no read model folds. */
const unwanted = (): NewEvent => ({ id: nextId(), type: 'Unwanted', schema: 1, data: {}, meta })

const openStore = (): EventStore => openMemoryStore({ now: () => Date.UTC(2025, 0, 1) })
const openTables = (logId = 'log-1', file = ':memory:'): RowTables => openRowTables(file, logId)
const noSleep = async (): Promise<void> => undefined

const start = (
  store: EventStore,
  tables: RowTables,
  projections: readonly Projection[] = PROJECTIONS,
  onProblem: (health: ProjectionHealth) => void = () => undefined,
): Projector => {
  const projector = startProjector({ store, tables, projections, onProblem, sleep: noSleep })
  open.add(projector)
  return projector
}
const open = new Set<Projector>()
afterEach(async () => {
  for (const projector of open) await projector.close()
  open.clear()
})

/** One that has folded all there is. */
async function startedUp(...given: Parameters<typeof start>): Promise<Projector> {
  const projector = start(...given)
  await projector.caughtUp()
  return projector
}

/** Folds all there is, as a process does that ends then. */
async function foldOnce(...given: Parameters<typeof start>): Promise<void> {
  const projector = await startedUp(...given)
  open.delete(projector)
  await projector.close()
}

/** Row tables whose file outlives the projector that closes them. */
function keptOpen(tables: RowTables): RowTables {
  return { ...tables, close: () => undefined }
}

const rowsOf = (tables: RowTables, projection: Projection): unknown[] => [...tables.entries(projection.name)]

async function untilPosition(projector: Projector, position: string): Promise<void> {
  while (projector.health().some((health) => health.position !== position)) {
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('rebuild equals live', () => {
  test.each(PROJECTIONS.map((projection) => [projection.name, projection] as const))(
    '%s: folded as events came, over restarts, rebuilt at once, and in plain memory',
    async (_name, projection) => {
      await fc.assert(
        fc.asyncProperty(steps, fc.nat(40), async (history, cut) => {
          const store = openStore()
          const live = keptOpen(openTables())
          let projector = start(store, live, [projection])
          await appendHistory(store, history.slice(0, cut))
          await appendOutcomes(store, history.slice(0, cut))
          await untilPosition(projector, await store.head())
          await projector.close()
          await appendHistory(store, history.slice(cut))
          await appendOutcomes(store, history.slice(cut))
          projector = start(store, live, [projection])
          await untilPosition(projector, await store.head())
          await projector.close()

          const rebuilt = keptOpen(openTables())
          await foldOnce(store, rebuilt, [projection])

          const memory = rowsInMemory()
          for (const event of await collect(store.readAll({ filter: { types: projection.events } }))) {
            projection.fold(memory, decodeEvent(event))
          }
          const expected = [...memory.entries]
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, row]) => ({ key, row: JSON.stringify(row) }))
          expect(rowsOf(rebuilt, projection)).toEqual(expected)
          expect(rowsOf(live, projection)).toEqual(expected)
        }),
        { numRuns: 40 },
      )
    },
  )
})

describe('queries', () => {
  test('get one row; page through a range, forwards and backwards', async () => {
    const store = openStore()
    const history = Array.from({ length: 9 }, (_, n) => ({
      coin: 'BTC',
      regime: REGIMES[n % 2] ?? 'RANGING',
      call: 'BUY' as const,
    }))
    await appendHistory(store, [...history, { coin: 'ETH', regime: 'RANGING', call: 'HOLD' }])
    const projector = await startedUp(store, openTables())
    const board = projector.reader(latestVerdicts)
    expect(board.get('SIM.BTC.1h')).toMatchObject({ recorded: 9, buys: 9, sells: 0 })
    expect(board.get('SIM.XRP.1h')).toBeUndefined()

    const shifts = projector.reader(regimeShifts)
    const prefix = 'SIM.BTC.1h/'
    const bars = (found: ReturnType<typeof shifts.range>) =>
      found.map(({ row }) => ('barClose' in row ? Number(row.barClose) / HOUR_MS : undefined))
    const first = shifts.range({ prefix, limit: 5 })
    const second = shifts.range({ prefix, limit: 5, after: first.at(-1)?.key ?? '' })
    expect(bars([...first, ...second])).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
    const newest = shifts.range({ prefix, limit: 3, direction: 'backwards' })
    expect(bars(newest)).toEqual([9, 8, 7])
    const older = shifts.range({ prefix, limit: 3, direction: 'backwards', after: newest.at(-1)?.key ?? '' })
    expect(bars(older)).toEqual([6, 5, 4])
  })
})

test('a row that was folded lately is answered without its table, as it is there; one of long ago is read', async () => {
  const store = openStore()
  const inner = openTables()
  let reads: string[] = []
  const tables: RowTables = {
    ...inner,
    get: (name, key) => (reads.push(key), inner.get(name, key)),
  }
  await appendHistory(store, [step('BTC')])
  const projector = await startedUp(store, tables, [latestVerdicts])
  const board = projector.reader(latestVerdicts)
  for (let n = 0; n < 1_100; n++) {
    await appendHistory(store, [step('BTC'), step(`C${n}`)])
    await untilPosition(projector, await store.head())
  }
  // One that is folded again and again is never read again.
  expect(reads.filter((key) => key === 'SIM.BTC.1h')).toHaveLength(1)
  reads = []
  for (const coin of ['BTC', 'C1099', 'C200'])
    expect(board.get(`SIM.${coin}.1h`)).toEqual(inner.get(latestVerdicts.name, `SIM.${coin}.1h`))
  expect(reads).toEqual([])
  expect(board.get('SIM.C0.1h')).toMatchObject({ recorded: 1 })
  expect(reads).toHaveLength(1)
})

describe('an event that cannot be folded', () => {
  const counting = (name: string, failAt?: string): Projection => ({
    name,
    version: 1,
    events: ['VerdictRecorded'],
    fold(rows, event) {
      rows.put('count', { n: ((rows.get('count')?.n as number | undefined) ?? 0) + 1 })
      if (event.position === failAt) throw new Error('cannot divide by a coin')
    },
  })

  test('stops that projection before it, keeps what came before, and shows in health; others go on', async () => {
    const store = openStore()
    await appendHistory(
      store,
      Array.from({ length: 6 }, () => step()),
    )
    const tables = openTables()
    const problems: ProjectionHealth[] = []
    const projector = await startedUp(store, tables, [counting('sick', '4'), counting('well')], (health) =>
      problems.push(health),
    )
    const [sick, well] = projector.health()
    expect(sick).toMatchObject({ state: 'stopped', position: '3' })
    expect(sick?.detail).toBe('cannot fold the event at position 4: cannot divide by a coin')
    expect(well).toMatchObject({ state: 'live', position: '6' })
    expect(problems).toEqual([sick])
    expect(() => projector.reader(counting('sick')).get('count')).toThrow(/sick has stopped: cannot fold/)
    expect(tables.get('sick', 'count')).toEqual({ n: 3 })
    expect(projector.reader(counting('well')).get('count')).toEqual({ n: 6 })
  })

  test('of a schema this release does not know stops it too', async () => {
    const store = openStore()
    const future = { ...recorded({}), schema: 99 }
    await appendNext(store, 'verdict-SIM.BTC.1h', [future])
    const projector = await startedUp(store, openTables(), [counting('any')])
    expect(projector.health()[0]).toMatchObject({ state: 'stopped', position: 'start' })
    expect(projector.health()[0]?.detail).toContain('schema 99')
  })

  test('of such a schema stops one that needs places only, behind a batch of others', async () => {
    const store = openStore()
    for (let n = 1; n <= 3; n++) {
      const event = n === 3 ? { ...recorded({}), schema: 99 } : recorded({ barClose: n * HOUR_MS })
      await appendNext(store, 'verdict-SIM.BTC.1h', [event])
    }
    const tables = openTables()
    const projector = await startedUp(store, tables, [verdictIndex])
    expect(projector.health()[0]).toMatchObject({ state: 'stopped', position: '2' })
    expect(rowsOf(tables, verdictIndex)).toHaveLength(2)
  })

  test('stops one that was whole where it stands, and it goes on answering', async () => {
    const store = openStore()
    await appendHistory(store, [step(), step()])
    const sick = counting('sick', '3')
    const projector = await startedUp(store, openTables(), [sick])
    await appendHistory(store, [step()])
    await expect.poll(() => projector.health()[0]?.state).toBe('stopped')
    expect(projector.reader(sick).get('count')).toEqual({ n: 2 })
  })

  test('once repaired, goes on where it stopped', async () => {
    const store = openStore()
    await appendHistory(
      store,
      Array.from({ length: 5 }, () => step()),
    )
    const tables = keptOpen(openTables())
    await foldOnce(store, tables, [counting('any', '3')])
    const repaired = await startedUp(store, tables, [counting('any')])
    expect(repaired.health()[0]).toMatchObject({ state: 'live', position: '5' })
    expect(repaired.reader(counting('any')).get('count')).toEqual({ n: 5 })
  })
})

describe('a new version', () => {
  const counter = (version: number): Projection => ({
    name: 'counter',
    version,
    events: ['VerdictRecorded'],
    fold: (rows) => rows.put('count', { n: Number(rows.get('count')?.['n'] ?? 0) + version }),
  })
  const refused = expect.objectContaining({ code: 'store_unavailable' })

  test('begins anew in place and refuses until it has caught up; the others answer meanwhile, and go on', async () => {
    const inner = openStore()
    const tables = keptOpen(openTables())
    await appendHistory(inner, [step(), step(), step()])
    await foldOnce(inner, tables, [counter(1), latestVerdicts])
    const going = Promise.withResolvers<void>()
    const store: EventStore = {
      ...inner,
      async *readAll(options) {
        if (options?.after === START && options.limit === undefined) await going.promise
        yield* inner.readAll(options)
      },
    }
    await appendHistory(inner, [step()])
    const projector = start(store, tables, [counter(2), latestVerdicts])
    await projector.opened()
    const [count, board] = [projector.reader(counter(2)), projector.reader(latestVerdicts)]
    await expect.poll(() => board.get('SIM.BTC.1h')?.recorded).toBe(4)
    expect(() => count.get('count')).toThrow(refused)
    expect(() => count.range({ limit: 1 })).toThrow(/counter is being built/)
    expect(projector.health()).toMatchObject([
      { state: 'building', isWhole: false, version: 2 },
      { state: 'live', isWhole: true },
    ])
    going.resolve()
    await projector.caughtUp()
    await appendHistory(inner, [step()])
    await untilPosition(projector, '5')
    expect([count.get('count'), board.get('SIM.BTC.1h')?.recorded]).toEqual([{ n: 10 }, 5])
  })

  test('that a process left half built refuses again in the next one, and goes on where it was', async () => {
    const store = openStore()
    const tables = keptOpen(openTables())
    await appendHistory(store, [step(), step()])
    tables.open('counter', 2)
    const left = new Map([['count', { n: 2 }]])
    const mark = { id: (await collect(store.readAll({ limit: 1 })))[0]?.id ?? '', position: '1' }
    tables.commit([{ name: 'counter', rows: left, position: '1', isWhole: false }], mark)
    const projector = start(store, tables, [counter(2)])
    expect(() => projector.reader(counter(2)).get('count')).toThrow(refused)
    await projector.caughtUp()
    expect(projector.reader(counter(2)).get('count')).toEqual({ n: 4 })
  })
})

test('a commit that fails leaves rows and checkpoints as they were', () => {
  const tables = openTables()
  tables.open('counter', 1)
  const change = { name: 'counter', rows: new Map([['count', { n: 1 }]]), position: '7', isWhole: true }
  expect(() => tables.commit([change, { ...change, name: 'not_opened' }], undefined)).toThrow('no such table')
  expect(tables.open('counter', 1)).toEqual({ position: START, isWhole: false })
  expect(tables.get('counter', 'count')).toBeUndefined()
})

describe('the store behind it', () => {
  test('failing for a while is retried from the checkpoint, and reported now and then meanwhile', async () => {
    const store = openStore()
    await appendHistory(store, [step()])
    let failures = 30
    const flaky: EventStore = {
      ...store,
      readAll(options) {
        if (failures-- > 0) throw new Error('connection reset')
        return store.readAll(options)
      },
    }
    const problems: ProjectionHealth[] = []
    const projector = await startedUp(flaky, openTables(), [latestVerdicts], (health) =>
      problems.push(health),
    )
    expect(problems.map((health) => health.state)).toEqual(['retrying', 'retrying'])
    expect(projector.health()[0]).toMatchObject({ state: 'live', position: '1' })
    expect(projector.health()[0]?.detail).toBeUndefined()
  })

  test('whose disk is full says so, until there is room', async () => {
    const tables = openTables()
    let isFull = true
    const store = openStore()
    await appendHistory(store, [step()])
    const flaky: RowTables = {
      ...tables,
      commit(...change) {
        if (isFull) throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
        tables.commit(...change)
      },
    }
    const said: (boolean | undefined)[] = []
    const projector = await startedUp(store, flaky, [latestVerdicts], (health) => {
      said.push(health.isFull)
      isFull = false
    })
    expect(said).toEqual([true])
    expect(projector.health()[0]?.isFull).toBeUndefined()
  })

  test('failing a commit while it follows is retried at once, not at the next event', async () => {
    const store = openStore()
    const tables = openTables()
    let failures = 1
    const flaky: RowTables = {
      ...tables,
      commit(changes, newest) {
        if (changes.some(({ rows }) => rows.size > 0) && failures-- > 0) throw new Error('disk I/O error')
        tables.commit(changes, newest)
      },
    }
    const projector = await startedUp(store, flaky, [latestVerdicts])
    await appendHistory(store, [step()])
    await untilPosition(projector, '1')
    expect(projector.reader(latestVerdicts).get('SIM.BTC.1h')?.recorded).toBe(1)
  })

  test('shorter by events of no read model only has what comes in their places folded', async () => {
    const tables = keptOpen(openTables())
    const lost = openStore()
    await appendHistory(lost, [step('BTC'), step('BTC')])
    await appendNext(lost, 'x-1', Array.from({ length: 5 }, unwanted))
    await foldOnce(lost, tables, [latestVerdicts])
    const restored = openStore()
    for await (const { stream, id, type, schema, data, meta: own } of lost.readAll({ limit: 2 }))
      await appendNext(restored, stream, [{ id, type, schema, data, meta: own }])
    await appendHistory(restored, [step('SOL'), step('SOL'), step('SOL')])
    const after = await startedUp(restored, tables, [latestVerdicts])
    expect(after.reader(latestVerdicts).get('SIM.SOL.1h')?.recorded).toBe(3)
  })

  test('shorter than the read models rebuilds them', async () => {
    const tables = keptOpen(openTables())
    const longer = openStore()
    await appendHistory(longer, [step(), step(), step()])
    await foldOnce(longer, tables)
    const shorter = openStore()
    await appendHistory(shorter, [step()])
    const after = await startedUp(shorter, tables)
    expect(after.reader(latestVerdicts).get('SIM.BTC.1h')?.recorded).toBe(1)
    expect(after.health().map((health) => health.position)).toEqual(PROJECTIONS.map(() => '1'))
    // Said of all, and for as long as this process runs: the log soon grows past its former end.
    await appendHistory(shorter, [step('SOL'), step('SOL'), step('SOL'), step('SOL')])
    await untilPosition(after, '5')
    expect(after.health().map(({ lostEvent }) => lostEvent?.position)).toEqual(PROJECTIONS.map(() => '3'))
  })

  test.each([
    ['grown as long as before', 1],
    ['grown longer', 40],
  ])('restored from an older copy, and %s, has them built anew', async (_what, more) => {
    const tables = keptOpen(openTables())
    const [lost, restored] = [openStore(), openStore()]
    await appendHistory(lost, [step('BTC'), step('BTC'), step('ETH')])
    // What no read model wants is looked at too, and moves their checkpoints on.
    await appendNext(lost, 'x-1', Array.from({ length: more }, unwanted))
    const before = await startedUp(lost, tables)
    await untilPosition(before, await lost.head())
    await before.close()
    for await (const { stream, id, type, schema, data, meta: written } of lost.readAll({ limit: 2 })) {
      await appendNext(restored, stream, [{ id, type, schema, data, meta: written }])
    }
    await appendHistory(restored, [step('SOL'), ...Array.from({ length: more }, () => step('SOL'))])
    const after = await startedUp(restored, tables)
    const recordedOf = (coin: string) => after.reader(latestVerdicts).get(`SIM.${coin}.1h`)?.recorded
    expect([recordedOf('BTC'), recordedOf('ETH'), recordedOf('SOL')]).toEqual([2, undefined, more + 1])
  })

  test('that is the same is not read anew, also where the newest events were of no read model', async () => {
    const tables = keptOpen(openTables())
    const store = openStore()
    await appendHistory(store, [step()])
    await appendNext(store, 'x-1', [unwanted()])
    await foldOnce(store, tables)
    let read = 0
    const counted: EventStore = {
      ...store,
      async *readAll(options) {
        for await (const event of store.readAll(options)) {
          read += options?.limit === 1 ? 0 : 1
          yield event
        }
      },
    }
    const after = await startedUp(counted, tables)
    expect(after.reader(latestVerdicts).get('SIM.BTC.1h')?.recorded).toBe(1)
    expect(read).toBe(0)
  })

  test('whose read models are damaged has them built anew', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'projections-'))
    const file = join(directory, 'projections.db')
    writeFileSync(file, 'this is no database, whatever its name says'.repeat(50))
    const store = openStore()
    await appendHistory(store, [step()])
    const projector = await startedUp(store, openTables('log-1', file))
    expect(projector.reader(latestVerdicts).get('SIM.BTC.1h')?.recorded).toBe(1)
    rmSync(directory, { recursive: true })
  })

  test('being another log empties the read models', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'projections-'))
    const file = join(directory, 'projections.db')
    const store = openStore()
    await appendHistory(store, [step()])
    await foldOnce(store, openTables('log-1', file))
    const other = openStore()
    await appendHistory(other, [step('ETH')])
    const second = await startedUp(other, openTables('log-2', file))
    expect(second.reader(latestVerdicts).get('SIM.BTC.1h')).toBeUndefined()
    expect(second.reader(latestVerdicts).get('SIM.ETH.1h')?.recorded).toBe(1)
    rmSync(directory, { recursive: true })
  })
})

describe('read models that follow the log together', () => {
  const counting = (name: string, events: Projection['events'] = ['VerdictRecorded']): Projection => ({
    name,
    version: 1,
    events,
    needs: 'recorded',
    fold: (rows) => rows.put('count', { n: Number(rows.get('count')?.['n'] ?? 0) + 1 }),
  })
  /** Tables that tell of each transaction, and of each read model that writes in it. */
  function watched(tables: RowTables, before: () => void = () => undefined) {
    const transactions: string[][] = []
    const watching: RowTables = {
      ...tables,
      commit(changes, newest) {
        before()
        transactions.push(changes.map(({ name }) => name))
        tables.commit(changes, newest)
      },
    }
    return { watching, transactions }
  }
  const appendOne = async (store: EventStore, event: NewEvent, projector: Projector): Promise<void> => {
    await appendNext(store, 'verdict-SIM.BTC.1h', [event])
    await untilPosition(projector, await store.head())
  }

  test('share one transaction, also those that an event does not concern', async () => {
    const store = openStore()
    const tables = keptOpen(openTables())
    const { watching, transactions } = watched(tables)
    const all = [counting('one'), counting('two'), counting('idle', ['DaySealed'])]
    const projector = await startedUp(store, watching, all)
    for (let n = 1; n <= 9; n++) await appendOne(store, recorded({ barClose: n * HOUR_MS }), projector)
    expect(transactions).toEqual(Array.from({ length: 10 }, () => ['one', 'two', 'idle']))
    expect(projector.health().map(({ position }) => position)).toEqual(['9', '9', '9'])
    // Where it stands is written in the end, so that nothing is read again.
    await projector.close()
    expect(all.map(({ name }) => tables.open(name, 1).position)).toEqual(['9', '9', '9'])
  })

  /** A projector whose sleeps end when the test says so. */
  async function sleeping(
    store: EventStore,
    tables: RowTables,
    projection: Projection,
    ...more: Projection[]
  ) {
    const waking: (() => void)[] = []
    const sleep = (): Promise<void> => new Promise((resolve) => waking.push(resolve))
    const projector = startProjector({ store, tables, projections: [projection, ...more], sleep })
    open.add(projector)
    await projector.caughtUp()
    const wake = async (): Promise<void> => {
      for (const one of waking.splice(0)) one()
      await new Promise((resolve) => setImmediate(resolve))
    }
    return { projector, reader: projector.reader(projection), wake }
  }

  test('write rows some time after they changed, and answer with them at once', async () => {
    const store = openStore()
    const tables = keptOpen(openTables())
    const { watching, transactions } = watched(tables)
    const one = counting('one')
    const { projector, reader, wake } = await sleeping(store, watching, one)
    for (let n = 1; n <= 9; n++) await appendOne(store, recorded({ barClose: n * HOUR_MS }), projector)
    expect(reader.get('count')).toEqual({ n: 9 })
    expect([rowsOf(tables, one), tables.open('one', 1).position]).toEqual([[], START])
    await wake()
    expect(transactions).toEqual([['one'], ['one']])
    expect([tables.get('one', 'count'), tables.open('one', 1).position]).toEqual([{ n: 9 }, '9'])
    await appendOne(store, recorded({ barClose: 10 * HOUR_MS }), projector)
    expect(reader.range({ limit: 9 })).toEqual([{ key: 'count', row: { n: 10 } }])
    expect([tables.get('one', 'count'), tables.open('one', 1).position]).toEqual([{ n: 10 }, '10'])
    // Many are written at once, though nobody woke it.
    const many = Array.from({ length: 512 }, (_, n) => recorded({ barClose: (n + 11) * HOUR_MS }))
    for (const half of [many.slice(0, 256), many.slice(256)])
      await appendNext(store, 'verdict-SIM.BTC.1h', half)
    await untilPosition(projector, '522')
    expect(tables.get('one', 'count')).toEqual({ n: 522 })
  })

  test('answer that a row is gone before its removal is written', async () => {
    const store = openStore()
    const tables = keptOpen(openTables())
    const fold = (rows: Rows<JsonObject>): void =>
      rows.get('on') === undefined ? rows.put('on', {}) : rows.delete('on')
    const { projector, reader, wake } = await sleeping(store, tables, { ...counting('switch'), fold })
    await appendOne(store, recorded({ barClose: HOUR_MS }), projector)
    await wake()
    await appendOne(store, recorded({ barClose: 2 * HOUR_MS }), projector)
    expect(tables.get('switch', 'on')).toEqual({})
    expect(reader.get('on')).toBeUndefined()
  })

  test('go on from rows that are not written, also where they are more than are kept in memory', async () => {
    const store = openStore()
    const one = counting('one')
    const fold = (rows: Rows<JsonObject>, event: never): void => {
      one.fold(rows, event)
      for (let n = 0; n < 1_001; n++) rows.put(`other-${n}`, {})
    }
    const { projector, reader } = await sleeping(store, openTables(), { ...one, fold })
    for (let n = 1; n <= 3; n++) await appendOne(store, recorded({ barClose: n * HOUR_MS }), projector)
    expect(reader.get('count')).toEqual({ n: 3 })
  })

  test('keep the rows that are looked for, though more were written than are kept in memory', async () => {
    const store = openStore()
    const tables = openTables()
    const looked: string[] = []
    const looking: RowTables = {
      ...tables,
      get: (name, key) => (looked.push(key), tables.get(name, key)),
    }
    const one = counting('one')
    const fold = (rows: Rows<JsonObject>, event: never): void => {
      one.fold(rows, event)
      const n = Number(rows.get('count')?.['n'])
      for (let other = 0; other < 1_001; other++) rows.put(`other-${other}`, { n })
    }
    const { projector, reader, wake } = await sleeping(store, looking, { ...one, fold })
    for (let n = 1; n <= 3; n++) {
      await appendOne(store, recorded({ barClose: n * HOUR_MS }), projector)
      await wake()
      expect([reader.get('count'), reader.get('other-7')]).toEqual([{ n }, { n }])
    }
    expect(looked).toEqual(['count', 'other-7', 'other-7', 'other-7'])
  })

  test('refuse a range whose rows cannot be written, and have it once they can', async () => {
    const store = openStore()
    let isFailing = false
    const { watching } = watched(openTables(), () => {
      if (isFailing) throw new Error('disk I/O error')
    })
    const one = counting('one')
    const { projector, reader, wake } = await sleeping(store, watching, one)
    isFailing = true
    await appendOne(store, recorded({ barClose: HOUR_MS }), projector)
    expect(() => reader.range({ limit: 9 })).toThrow(/one cannot be written: disk I\/O error/)
    // Its own try fails as well; the next one is made later.
    await wake()
    isFailing = false
    for (let turn = 0; turn < 5; turn++) await wake()
    await untilPosition(projector, '1')
    expect(reader.range({ limit: 9 })).toEqual([{ key: 'count', row: { n: 1 } }])
  })

  test('that end without closing have a bounded stretch read again, and fold nothing twice', async () => {
    const store = openStore()
    const tables = keptOpen(openTables())
    const all = [counting('busy'), counting('idle', ['DaySealed'])] as const
    const ended = new AbortController()
    const dying: EventStore = {
      ...store,
      subscribe: (options) =>
        store.subscribe({ ...options, signal: AbortSignal.any([options.signal, ended.signal]) }),
    }
    const { projector: first } = await sleeping(dying, tables, ...all)
    for (let n = 1; n <= 600; n++) await appendOne(store, recorded({ barClose: n * HOUR_MS }), first)
    // It follows nothing any more, and has not written where it stood.
    ended.abort()
    expect(all.map(({ name }) => tables.open(name, 1).position)).toEqual(['512', '512'])
    await appendHistory(store, [step()])
    const second = await startedUp(store, tables, all)
    expect(second.reader(counting('busy')).get('count')).toEqual({ n: 601 })
    expect(second.health().map(({ position }) => position)).toEqual(['601', '601'])
  })

  /** A log with a long past of verdicts, which are all the same. */
  function longPast(events: number): EventStore {
    const event = recorded({})
    return {
      ...openStore(),
      head: async () => String(events),
      async *readAll({ after = START, onLooked } = {}) {
        const from = after === START ? 0 : Number(after)
        for (let n = from + 1; n <= events; n++) {
          yield { ...event, stream: 'verdict-SIM.BTC.1h', revision: n - 1, position: `${n}`, at: '' }
          if (n % 500 === 0) await onLooked?.({ upTo: `${n}`, events: 500 })
        }
      },
    }
  }

  test('write what they fold of the past now and then, and the rest at its end', async () => {
    const { watching, transactions } = watched(openTables())
    const all = ['one', 'two', 'three'].map((name) => counting(name))
    const projector = await startedUp(longPast(70_250), watching, all)
    expect(transactions).toEqual(Array.from({ length: 3 }, () => ['one', 'two', 'three']))
    for (const one of all) expect(projector.reader(one).get('count')).toEqual({ n: 70_250 })
  })

  test('that end in the past read a bounded stretch again, and fold nothing twice', async () => {
    const tables = keptOpen(openTables())
    const all = ['one', 'two'].map((name) => counting(name))
    const ended = new AbortController()
    const whole = longPast(40_000)
    const first = start(
      {
        ...whole,
        async *readAll(options) {
          for await (const event of whole.readAll(options)) {
            if (event.position === '34001') await new Promise(() => ended.abort())
            yield event
          }
        },
      },
      tables,
      all,
    )
    await new Promise((resolve) => ended.signal.addEventListener('abort', resolve))
    open.delete(first)
    expect(all.map(({ name }) => tables.open(name, 1).position)).toEqual(['32000', '32000'])
    const second = await startedUp(whole, tables, all)
    for (const one of all) expect(second.reader(one).get('count')).toEqual({ n: 40_000 })
  })

  test('stop in the past before an event that cannot be folded, with all that came before it', async () => {
    const tables = openTables()
    const failing = (name: string): Projection => ({
      ...counting(name),
      needs: 'recorded',
      fold(rows, event) {
        rows.put('count', { n: Number(rows.get('count')?.['n'] ?? 0) + 1 })
        if (event.position === '5500') throw new Error('cannot divide by a coin')
      },
    })
    const projector = await startedUp(longPast(15_000), tables, [failing('sick'), counting('well')])
    expect(projector.health()).toMatchObject([
      { state: 'stopped', position: '5499' },
      { state: 'live', position: '15000' },
    ])
    expect(tables.get('sick', 'count')).toEqual({ n: 5_499 })
  })
})

describe('a file of read models', () => {
  const aFile = (): string => join(mkdtempSync(join(tmpdir(), 'rows-')), 'projections.db')
  const codeOf = (work: () => unknown): string => {
    try {
      work()
      return 'none'
    } catch (error) {
      return error instanceof ServiceError ? error.code : String(error)
    }
  }

  test('is one process’ at a time: a second one is refused, and has it once the first has closed it', () => {
    const file = aFile()
    const first = openRowTables(file, 'log-1')
    expect(codeOf(() => openRowTables(file, 'log-1'))).toBe('store_locked')
    expect(() => openRowTables(file, 'log-1')).toThrow(/read models.*open in another process/)
    first.close()
    openRowTables(file, 'log-1').close()
  })

  test('that turns out damaged while it is in use is emptied, and all is built anew', async () => {
    const file = aFile()
    const store = openStore()
    await appendHistory(store, [step(), step('ETH')])
    await foldOnce(store, openTables('log-1', file))
    const bytes = readFileSync(file)
    // The pages of the tables, not the one that says what there is.
    writeFileSync(file, Buffer.concat([bytes.subarray(0, 4_096), randomBytes(bytes.length - 4_096)]))
    const damaged: string[] = []
    const projector = startProjector({
      store,
      tables: openTables('log-1', file),
      projections: PROJECTIONS,
      sleep: noSleep,
      onDamaged: (why) => damaged.push(why),
    })
    open.add(projector)
    const board = projector.reader(latestVerdicts)
    await expect
      .poll(() => {
        try {
          return board.get('SIM.ETH.1h')?.recorded
        } catch (error) {
          return error instanceof ServiceError && error.code
        }
      })
      .toBe(1)
    await appendHistory(store, [step()])
    await untilPosition(projector, '3')
    expect(board.get('SIM.BTC.1h')?.recorded).toBe(2)
  })
})

describe('a read model that is not opened yet', () => {
  test('refuses what it is asked, and says when it can be', async () => {
    const inner = openMemoryStore({ now: () => 0 })
    const first = recorded({})
    await inner.append('verdict-x', [first], { expected: 'no-stream' })
    const opening = Promise.withResolvers<void>()
    const building = Promise.withResolvers<void>()
    const store: EventStore = {
      ...inner,
      async *readAll(options) {
        await (options?.limit === 1 ? opening : building).promise
        yield* inner.readAll(options)
      },
    }
    const tables = openRowTables(':memory:', 'log')
    tables.open('another', 1)
    const state = { name: 'another', rows: new Map(), position: '1', isWhole: true }
    tables.commit([state], { id: first.id, position: '1' })
    const projector = start(store, tables, [latestVerdicts])
    const reader = projector.reader(latestVerdicts)
    const early = expect.objectContaining({ code: 'store_unavailable' })
    expect(() => reader.get('SIM.BTC.1h')).toThrow(early)
    expect(() => reader.range({ limit: 1 })).toThrow(early)
    opening.resolve()
    await projector.opened()
    expect(() => reader.range({ limit: 1 })).toThrow(early)
    expect(reader.health()).toMatchObject({ state: 'building', hasBeenLive: false })
    building.resolve()
    await projector.caughtUp()
    expect(reader.range({ limit: 1 })).toHaveLength(1)
    expect(reader.health()).toMatchObject({ state: 'live', hasBeenLive: true })
  })
})
