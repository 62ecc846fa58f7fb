import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { VerdictRow } from '../../contracts/answers/verdict-row.ts'
import { aVerdict } from '../../contracts/domain/verdict.fixture.ts'
import type { Verdict } from '../../contracts/domain/verdict.ts'
import type { Position } from '../../contracts/infra/position.ts'
import {
  appendFacts,
  nextFactId,
  outcomeOf,
  verdictRecorded,
} from '../../projections/given-events.fixture.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../log/event-store.ts'
import { type FollowItem, followVerdicts } from './follow-verdicts.ts'
import type { ReplayFilter } from './replay-filter.ts'
import { replayVerdicts } from './replay-verdicts.ts'
import { positionOfCursor } from './shown-rows.ts'

/** Lets everything that is ready run, and takes no time. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

let store: EventStore
let made: number
beforeEach(() => {
  store = openMemoryStore({ now: () => 0 })
  made = 0
})

async function record(coin = 'BTC'): Promise<Verdict> {
  const verdict = aVerdict({ verdictId: nextFactId(), barClose: ++made * 3_600_000, coin })
  await appendFacts(store, verdictRecorded(verdict))
  return verdict
}
const label = (verdict: Verdict) => appendFacts(store, outcomeOf(verdict))

interface Follower {
  /** The rows that became visible, until no new one does. */
  drain(): Promise<VerdictRow[]>
  end(): Promise<void>
}

async function follow(
  after?: Position,
  { filter = {}, withOpen = false }: { filter?: ReplayFilter; withOpen?: boolean } = {},
): Promise<Follower> {
  const ending = new AbortController()
  const items = followVerdicts(store, {
    filter,
    ...(after !== undefined && { after }),
    withOpen,
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
      for (let quiet = 0; quiet < 3; ) {
        const item = await next()
        if (item.kind === 'quiet') quiet += 1
        else rows.push(item.row)
      }
      return rows
    },
    async end() {
      ending.abort()
      await items.return()
    },
  }
}

const idsOf = (rows: readonly VerdictRow[]): string[] => rows.map((row) => row.verdict_id)

describe('a live tail', () => {
  test('shows a verdict once its outcome is in the log, in the order of the outcomes', async () => {
    const tail = await follow()
    const [slow, quick, other] = [await record('BTC'), await record('ETH'), await record('SOL')]
    expect(await tail.drain()).toEqual([])
    await label(quick)
    const { position } = await label(other)
    const rows = await tail.drain()
    expect(idsOf(rows)).toEqual([quick.verdictId, other.verdictId])
    expect(rows.at(-1)?.cursor).toBe(`p${position}`)
    await label(slow)
    expect(idsOf(await tail.drain())).toEqual([slow.verdictId])
    await tail.end()
  })

  test('begins with what becomes visible from now on, or after a row', async () => {
    const [first, second] = [await record(), await record()]
    await label(first)
    const fresh = await follow()
    const resumed = await follow('start')
    expect(await fresh.drain()).toEqual([])
    expect(idsOf(await resumed.drain())).toEqual([first.verdictId])
    await label(second)
    expect(idsOf(await fresh.drain())).toEqual([second.verdictId])
    expect(idsOf(await resumed.drain())).toEqual([second.verdictId])
    await Promise.all([fresh.end(), resumed.end()])
  })

  test('shows the operator everything at once', async () => {
    const tail = await follow(undefined, { withOpen: true })
    const { verdictId } = await record()
    const rows = await tail.drain()
    expect([idsOf(rows), rows[0]?.cursor]).toEqual([[verdictId], `p${await store.head()}`])
    await tail.end()
  })

  test('keeps to its filter', async () => {
    const tail = await follow('start', { filter: { coins: ['ETH'], exchanges: ['SIM'] } })
    const [btc, eth] = [await record('BTC'), await record('ETH')]
    await label(btc)
    await label(eth)
    expect(idsOf(await tail.drain())).toEqual([eth.verdictId])
    await tail.end()
  })

  test('ends when it is told to, and when the store is closed', async () => {
    const ending = new AbortController()
    const options = { filter: {}, withOpen: false, sleep: turn, signal: ending.signal }
    const told = followVerdicts(store, options)
    await told.next()
    ending.abort()
    expect(await told.next()).toEqual({ done: true, value: undefined })
    const left = followVerdicts(store, { ...options, signal: new AbortController().signal })
    await left.next()
    expect(await left.next()).toEqual({ done: false, value: { kind: 'quiet' } })
    await store.close()
    for (let item = await left.next(); item.done !== true; item = await left.next())
      expect(item.value.kind).toBe('quiet')
    await expect(followVerdicts(store, options).next()).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  test('shows each verdict once and none early, whatever happens in between', async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.constant('record' as const) },
      { weight: 4, arbitrary: fc.record({ label: fc.nat(8) }) },
      { weight: 3, arbitrary: fc.constant('drain' as const) },
      // Cut off behind a row that is not always the last one.
      { weight: 2, arbitrary: fc.record({ reconnectBehind: fc.integer({ min: 1, max: 3 }) }) },
      // A page of the replay in between.
      { weight: 1, arbitrary: fc.record({ replay: fc.integer({ min: 1, max: 4 }) }) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
        store = openMemoryStore({ now: () => 0 })
        // Verdicts without an outcome, by their series: those of one are labelled in their order.
        const open = new Map<string, Verdict[]>(['BTC', 'ETH', 'SOL'].map((coin) => [coin, []]))
        const labelled: string[] = []
        const shown: VerdictRow[] = []
        const keep = (rows: readonly VerdictRow[]): void => {
          for (const row of rows) expect(labelled).toContain(row.verdict_id)
          shown.push(...rows)
        }
        const last = (): Position => positionOfCursor(shown.at(-1)?.cursor ?? 'start') ?? expect.fail()
        const labelNext = async (of: Verdict[]): Promise<void> => {
          const verdict = of.shift()
          if (verdict === undefined) return
          labelled.push(verdict.verdictId)
          await label(verdict)
        }
        let tail = await follow('start')
        for (const one of steps) {
          if (one === 'drain') keep(await tail.drain())
          else if (one === 'record') {
            const verdict = await record(['BTC', 'ETH', 'SOL'][made % 3])
            open.get(verdict.coin)?.push(verdict)
          } else if ('label' in one) await labelNext([...open.values()][one.label % 3] ?? [])
          else if ('reconnectBehind' in one) {
            const rows = await tail.drain()
            await tail.end()
            keep(rows.slice(0, one.reconnectBehind))
            tail = await follow(last())
          } else {
            keep(await tail.drain())
            await tail.end()
            const signal = new AbortController().signal
            const options = { filter: {}, after: last(), limit: one.replay, withOpen: false, signal }
            for await (const row of replayVerdicts(store, options)) keep([row])
            tail = await follow(last())
          }
        }
        keep(await tail.drain())
        await tail.end()
        expect(idsOf(shown)).toEqual(labelled)
      }),
      { numRuns: 120 },
    )
  })
})
