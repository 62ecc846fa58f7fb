import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import type { Verdict } from '../../contracts/domain/verdict.ts'
import { appendFacts, outcomeLabelled, verdictRecorded } from '../../projections/given-events.fixture.ts'
import type { VerdictPlace } from '../../projections/index.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../log/event-store.ts'
import { uuidV8 } from '../runtime/ids/uuid.ts'
import { eventHash, verifyVerdict } from './verify-verdict.ts'

const T0 = Date.UTC(2025, 0, 1)
const idOf = (kind: number, n: number): string =>
  uuidV8(Buffer.from(`${kind}${n.toString(16).padStart(31, '0')}`, 'hex'))

let store: EventStore
let places: Map<string, VerdictPlace>
let indexed: string
let waits: number

beforeEach(() => {
  store = openMemoryStore({ now: () => T0 })
  places = new Map()
  indexed = 'start'
  waits = 0
})

async function record(hour: number): Promise<Verdict> {
  const fact = verdictRecorded({ verdictId: idOf(1, hour), barClose: T0 + hour * HOUR_MS })
  const { revision, position } = await appendFacts(store, fact)
  places.set(fact.event.id, { series: 'SIM.BTC.1h', revision })
  indexed = position
  return fact.event.data as Verdict
}
async function label({ verdictId, barClose }: Verdict): Promise<void> {
  const { stream, event } = outcomeLabelled({ verdictId, barClose, race: 'up' })
  await appendFacts(store, { stream, event: { ...event, id: idOf(2, barClose) } })
}

const verify = (verdictId: string, onWait: () => Promise<void> | void = () => undefined) =>
  verifyVerdict(
    {
      store,
      market: 'simulated',
      index: { get: (id) => places.get(id), position: () => indexed },
      signal: new AbortController().signal,
      async sleep() {
        waits += 1
        await onWait()
      },
    },
    verdictId,
  )

describe('verifying', () => {
  test('shows the event as it was recorded, with its place and hash, and when its window closes', async () => {
    await record(0)
    const verdict = await record(1)
    const { event, hash, ...rest } = await verify(verdict.verdictId)
    expect(event).toEqual({
      id: verdict.verdictId,
      type: 'VerdictRecorded',
      schema: 1,
      stream: 'verdict-SIM.BTC.1h',
      revision: 1,
      position: indexed,
      at: '2025-01-01T00:00:00.000Z',
      data: verdict,
    })
    expect(rest).toMatchObject({ outcome: null, window_closes_at: '2025-01-01T09:00:00.000Z' })
    const { id, type, schema, data } = event
    const sorted = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(sorted)
        : value !== null && typeof value === 'object'
          ? Object.fromEntries(
              Object.entries(value)
                .toSorted(([a], [b]) => (a < b ? -1 : 1))
                .map(([key, one]) => [key, sorted(one)]),
            )
          : value
    const text = JSON.stringify(sorted({ id, type, schema, data }))
    expect(hash).toBe(createHash('sha256').update(text).digest('hex'))
  })

  test('the hash follows from what the event says alone', async () => {
    for (const hour of [0, 1]) await record(hour)
    const [first, second] = await Array.fromAsync(store.readAll())
    if (first === undefined || second === undefined) throw new Error('no events')
    expect(eventHash({ ...first, position: '99', revision: 7, at: 'later' })).toBe(eventHash(first))
    expect(eventHash(second)).not.toBe(eventHash(first))
    expect(eventHash({ ...first, data: { ...first.data, confidence: 52 } })).not.toBe(eventHash(first))
  })

  test('finds the outcome of each bar, also where bars are missing, and of no other', async () => {
    const hours = [0, 1, 2, 5, 6, 11, 12, 13, 40, 41, 60]
    const verdicts = []
    for (const hour of hours) verdicts.push(await record(hour))
    for (const verdict of verdicts.slice(0, -2)) await label(verdict)
    for (const [index, { verdictId }] of verdicts.entries()) {
      const { outcome } = await verify(verdictId)
      expect(outcome?.event.data.verdictId).toBe(index < hours.length - 2 ? verdictId : undefined)
    }
  })

  test('a verdict without an outcome between labelled ones has none', async () => {
    const verdicts = []
    for (const hour of [0, 1, 2, 3]) verdicts.push(await record(hour))
    const missing = verdicts[1]
    for (const verdict of verdicts) if (verdict !== missing) await label(verdict)
    expect((await verify(missing?.verdictId ?? '')).outcome).toBeNull()
  })
})

describe('an id that the index does not have', () => {
  const unknown = '0190a000-0000-8000-8000-00000000ffff'

  test('is unknown at once where the index holds the whole log', async () => {
    await record(0)
    await expect(verify(unknown)).rejects.toMatchObject({ code: 'not_found' })
    expect(waits).toBe(0)
  })

  test('is waited for while the index is behind', async () => {
    const verdict = await record(0)
    const place = places.get(verdict.verdictId)
    places.clear()
    indexed = 'start'
    const found = await verify(verdict.verdictId, () => {
      if (waits === 3 && place !== undefined) places.set(verdict.verdictId, place)
    })
    expect(found.verdict_id).toBe(verdict.verdictId)
    expect(waits).toBe(3)
  })

  test('is given up where the index stays behind', async () => {
    await record(0)
    indexed = 'start'
    await expect(verify(unknown)).rejects.toMatchObject({ code: 'not_found' })
    expect(waits).toBe(100)
  })
})

test('an index that belongs to another log is a fault, not a proof', async () => {
  const verdict = await record(0)
  places.set(verdict.verdictId, { series: 'SIM.BTC.1h', revision: 4 })
  await expect(verify(verdict.verdictId)).rejects.toMatchObject({ code: 'internal_error' })
})
