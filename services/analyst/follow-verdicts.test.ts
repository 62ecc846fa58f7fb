import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { VerdictRow } from '../../contracts/verdict-row.ts'
import { appendFacts, nextFactId, verdictRecorded } from '../../projections/given-events.fixture.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../log/event-store.ts'
import { type FollowItem, followVerdicts } from './follow-verdicts.ts'
import { AT_START, parseCursor, type ReplayCursor } from './replay-cursor.ts'
import type { ReplayFilter } from './replay-filter.ts'
import { replayVerdicts } from './replay-verdicts.ts'

/** Lets everything that is ready run, and takes no time. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

let store: EventStore
let now: number
let made: number
beforeEach(() => {
  store = openMemoryStore({ now: () => 0 })
  now = 0
  made = 0
})

async function record(validUntil: number, coin = 'BTC'): Promise<string> {
  const verdictId = nextFactId()
  await appendFacts(store, verdictRecorded({ verdictId, barClose: ++made, validUntil, coin }))
  return verdictId
}

interface Follower {
  /** The rows that became visible, until no new one does. */
  drain(): Promise<VerdictRow[]>
  end(): Promise<void>
}

async function follow(
  after?: ReplayCursor,
  filter: ReplayFilter = {},
  clock: () => number = () => now,
): Promise<Follower> {
  const ending = new AbortController()
  const items = followVerdicts(store, {
    filter,
    ...(after !== undefined && { after }),
    now: clock,
    sleep: turn,
    signal: ending.signal,
  })
  const next = async (): Promise<FollowItem> => {
    const item = await items.next()
    return item.done === true ? expect.fail('the following has ended') : item.value
  }
  expect(await next()).toEqual({ kind: 'quiet' })
  return {
    async drain() {
      const rows: VerdictRow[] = []
      for (let item = await next(); item.kind === 'verdict'; item = await next()) rows.push(item.row)
      return rows
    },
    async end() {
      ending.abort()
      await items.return()
    },
  }
}

const idsOf = (rows: readonly VerdictRow[]): string[] => rows.map((row) => row.verdict_id)
const cursorOf = (row: VerdictRow): ReplayCursor =>
  parseCursor(row.cursor) ?? expect.fail(`${row.cursor} is no cursor`)

describe('a live tail', () => {
  test('shows a verdict once its window has closed, in the order in which they close', async () => {
    const tail = await follow()
    const slow = await record(100)
    const quick = await record(10)
    const other = await record(10)
    expect(await tail.drain()).toEqual([])
    now = 9
    expect(await tail.drain()).toEqual([])
    now = 10
    expect(idsOf(await tail.drain())).toEqual([quick, other])
    now = 1_000
    expect(idsOf(await tail.drain())).toEqual([slow])
    await tail.end()
  })

  test('begins with what is recorded from now on, or behind a row', async () => {
    const [first, second] = [await record(0), await record(0)]
    const fresh = await follow()
    const resumed = await follow(AT_START)
    expect(await fresh.drain()).toEqual([])
    expect(idsOf(await resumed.drain())).toEqual([first, second])
    const third = await record(0)
    expect(idsOf(await fresh.drain())).toEqual([third])
    expect(idsOf(await resumed.drain())).toEqual([third])
    await Promise.all([fresh.end(), resumed.end()])
  })

  test('shows the operator everything at once', async () => {
    const tail = await follow(undefined, {}, () => Number.POSITIVE_INFINITY)
    const id = await record(1_000)
    const rows = await tail.drain()
    expect(idsOf(rows)).toEqual([id])
    const head = await store.head()
    expect(rows[0]?.cursor).toBe(`${head}~${head}~0`)
    await tail.end()
  })

  test('keeps to its filter', async () => {
    const tail = await follow(AT_START, { coins: ['ETH'], exchanges: ['SIM'] })
    await record(0, 'BTC')
    const eth = await record(0, 'ETH')
    await record(5, 'BTC')
    const later = await record(5, 'ETH')
    expect(idsOf(await tail.drain())).toEqual([eth])
    now = 5
    expect(idsOf(await tail.drain())).toEqual([later])
    await tail.end()
  })

  test('goes on behind a cursor of a process whose clock is ahead, once that time has come here too', async () => {
    const [first, second] = [await record(100), await record(102)]
    const page = replayVerdicts(store, {
      filter: {},
      after: AT_START,
      limit: 9,
      now: 101,
      signal: new AbortController().signal,
    })
    const shown = await Array.fromAsync(page)
    expect(idsOf(shown)).toEqual([first])
    now = 100
    const tail = await follow(cursorOf(shown[0] ?? expect.fail('no row')))
    const third = await record(101)
    expect(await tail.drain()).toEqual([])
    now = 101
    expect(idsOf(await tail.drain())).toEqual([third])
    now = 102
    expect(idsOf(await tail.drain())).toEqual([second])
    await tail.end()
  })

  test('ends when it is told to, and when the store is closed', async () => {
    const ending = new AbortController()
    const options = { filter: {}, now: () => now, sleep: turn, signal: ending.signal }
    const told = followVerdicts(store, options)
    await told.next()
    ending.abort()
    expect(await told.next()).toEqual({ done: true, value: undefined })
    const left = followVerdicts(store, { ...options, signal: new AbortController().signal })
    await left.next()
    const waiting = left.next()
    await turn()
    await store.close()
    expect(await waiting).toEqual({ done: true, value: undefined })
    await expect(followVerdicts(store, options).next()).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  test('shows each verdict once and none early, whatever happens in between', async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ record: fc.nat(8) }) },
      { weight: 3, arbitrary: fc.record({ pass: fc.integer({ min: 1, max: 4 }) }) },
      { weight: 3, arbitrary: fc.constant('drain' as const) },
      // Cut off behind a row that is not always the last one.
      { weight: 2, arbitrary: fc.record({ reconnectBehind: fc.integer({ min: 1, max: 3 }) }) },
      // A page of the replay in between.
      { weight: 1, arbitrary: fc.record({ replay: fc.integer({ min: 1, max: 4 }) }) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
        store = openMemoryStore({ now: () => 0 })
        now = 0
        const recorded: string[] = []
        const shown: VerdictRow[] = []
        const keep = (rows: readonly VerdictRow[]): void => {
          for (const row of rows) expect(Date.parse(row.valid_until)).toBeLessThanOrEqual(now)
          shown.push(...rows)
        }
        const last = (): ReplayCursor => {
          const row = shown.at(-1)
          return row === undefined ? AT_START : cursorOf(row)
        }
        let tail = await follow(AT_START)
        for (const one of steps) {
          if (one === 'drain') keep(await tail.drain())
          else if ('record' in one) recorded.push(await record(now + one.record))
          else if ('pass' in one) now += one.pass
          else if ('reconnectBehind' in one) {
            const rows = await tail.drain()
            await tail.end()
            keep(rows.slice(0, one.reconnectBehind))
            tail = await follow(last())
          } else {
            keep(await tail.drain())
            await tail.end()
            const signal = new AbortController().signal
            const page = replayVerdicts(store, { filter: {}, after: last(), limit: one.replay, now, signal })
            for await (const row of page) keep([row])
            tail = await follow(last())
          }
        }
        now += 1_000
        keep(await tail.drain())
        await tail.end()
        expect(idsOf(shown).toSorted()).toEqual(recorded.toSorted())
      }),
      { numRuns: 120 },
    )
  })
})
