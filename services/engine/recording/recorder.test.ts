import { describe, expect, test } from 'vitest'
import type { Series } from '../../../contracts/domain/series.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { outcomeStream, verdictStream } from '../../../contracts/events/streams.ts'
import { outcomeLabelled } from '../../../projections/given-events.fixture.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { collect } from '../../log/event-store.contract.ts'
import type { EventStore } from '../../log/event-store.ts'
import { createFactIds, type FactId } from '../../runtime/ids/fact-id.ts'
import type { VerdictDraft } from '../engine.ts'
import { aDraft, failingAppends, recordingOver, verdictsOf } from '../testing/recording.fixture.ts'
import { openVerdictsOf } from './open-verdicts.ts'
import { createRecorder, type Recorder, type RecorderOptions } from './recorder.ts'

const HOUR_MS = 3_600_000
const T0 = Date.UTC(2025, 0, 1)
const series: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }
const stream = verdictStream(series)

const openStore = (): EventStore => openMemoryStore({ now: () => T0 })

const draft = (hour: number, change: Partial<VerdictDraft> = {}): VerdictDraft =>
  aDraft({ ...series, barClose: T0 + hour * HOUR_MS, ...change })
const drafts = (from: number, to: number, change: Partial<VerdictDraft> = {}): VerdictDraft[] =>
  Array.from({ length: to - from }, (_, index) => draft(from + index, change))

interface Waits {
  /** Records drafts of the series, and answers what was added. */
  readonly record: (given: Parameters<Recorder['record']>[1]) => Promise<readonly Verdict[]>
  readonly recorder: Recorder
  readonly waited: number[]
}
function recorderOn(store: EventStore, change: Partial<RecorderOptions> = {}): Waits {
  const waited: number[] = []
  const sleep = async (ms: number): Promise<void> => void waited.push(ms)
  const recorder = createRecorder({ ...recordingOver(store), sleep, ...change })
  return { recorder, waited, record: async (given) => (await recorder.record(series, given)).added }
}

const typesAndHours = async (store: EventStore): Promise<string[]> =>
  (await collect(store.read(stream))).map(
    (event) => `${event.type} ${((event.data.barClose as number) - T0) / HOUR_MS}`,
  )

describe('recording', () => {
  test('appends every verdict once, HOLDs included, in order', async () => {
    const store = openStore()
    const { record } = recorderOn(store)
    const added = await record(drafts(0, 3))
    expect(added.map((verdict) => verdict.barClose)).toEqual([0, 1, 2].map((hour) => T0 + hour * HOUR_MS))
    const events = await collect(store.read(stream))
    expect(events.map((event) => event.data)).toEqual(added)
    expect(events.map((event) => event.id)).toEqual(added.map((verdict) => verdict.verdictId))
  })

  test('makes each verdict once', async () => {
    const store = openStore()
    const { idOf } = recordingOver(store)
    const made: number[] = []
    const at: FactId['at'] = (time, ...about) => {
      made.push((time - T0) / HOUR_MS)
      return idOf.at(time, ...about)
    }
    const { record } = recorderOn(store, {
      idOf: Object.assign((...about: string[]) => idOf(...about), { at }),
    })
    expect(await record(drafts(0, 3))).toHaveLength(3)
    expect(made).toEqual([0, 1, 2])
  })

  test('more verdicts than one append takes are all recorded', async () => {
    const store = openStore()
    const alternating = Array.from({ length: 450 }, (_, hour) =>
      draft(hour, { regime: hour % 2 === 0 ? 'RANGING' : 'VOLATILE' }),
    )
    expect(await recorderOn(store).record(alternating)).toHaveLength(450)
    expect(await collect(store.read(stream))).toHaveLength(450)
  })

  test('the same bars again, by the same process or after a restart, add nothing', async () => {
    const store = openStore()
    const { record } = recorderOn(store)
    await record(drafts(0, 3))
    expect(await record(drafts(0, 3))).toEqual([])
    expect(await recorderOn(store).record(drafts(1, 3))).toEqual([])
    const added = await recorderOn(store).record(drafts(1, 5))
    expect(added.map((verdict) => verdict.barClose)).toEqual([3, 4].map((hour) => T0 + hour * HOUR_MS))
    expect(await collect(store.read(stream))).toHaveLength(5)
  })

  test('a bar older than the newest recorded one is not recorded any more', async () => {
    const store = openStore()
    const { record } = recorderOn(store)
    await record([draft(5)])
    expect(await record(drafts(0, 5))).toEqual([])
  })

  test('replicas that race record every bar once between them, and adopt each other’s', async () => {
    const store = openStore()
    const replicas = [recorderOn(store), recorderOn(store), recorderOn(store)]
    const added = await Promise.all(
      replicas.map(async ({ record }) => {
        let count = 0
        for (let hour = 0; hour < 30; hour++) count += (await record([draft(hour)])).length
        return count
      }),
    )
    expect(added.reduce((sum, count) => sum + count)).toBe(30)
    expect(await typesAndHours(store)).toEqual(
      Array.from({ length: 30 }, (_, hour) => `VerdictRecorded ${hour}`),
    )
  })

  test('a replica that computed from another anchor, or more bars at once, adopts what is there', async () => {
    const store = openStore()
    const behind = recorderOn(store)
    await behind.record([draft(0)])
    await recorderOn(store).record(drafts(1, 4))
    const added = await behind.record(drafts(1, 7, { probability: 0.501, anchorBar: 3_600_000 }))
    expect(added.map((verdict) => verdict.barClose)).toEqual([4, 5, 6].map((hour) => T0 + hour * HOUR_MS))
    const stored = (await collect(store.read(stream))).map((event) => event.data.probability)
    expect(stored).toEqual([0.512, 0.512, 0.512, 0.512, 0.501, 0.501, 0.501])
  })

  test('ids are repeatable under one secret and different under another', async () => {
    const [one, again, other] = await Promise.all(
      ['a', 'a', 'b'].map((secret) =>
        recorderOn(openStore(), { idOf: createFactIds(Buffer.from(secret)) }).record([draft(0)]),
      ),
    )
    expect(one).toEqual(again)
    expect(one?.[0]?.verdictId).not.toBe(other?.[0]?.verdictId)
    expect(one?.[0]?.verdictId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8/)
  })
})

describe('what a verdict follows on', () => {
  const previous = async (store: EventStore): Promise<unknown[]> =>
    (await collect(store.read(stream, { limit: 99 })))
      .filter(({ type }) => type === 'VerdictRecorded')
      .map(({ data }) => (data.previous === null ? null : (data.previous as { regime: string }).regime))

  test('is the verdict recorded before it, within an append, behind one, and over a restart', async () => {
    const store = openStore()
    const { record } = recorderOn(store)
    await record([draft(0, { regime: 'RANGING' }), draft(1, { regime: 'TRENDING_UP' })])
    await record([draft(2, { regime: 'VOLATILE' })])
    await recorderOn(store).record([draft(3, { regime: 'VOLATILE' })])
    expect(await previous(store)).toEqual([null, 'RANGING', 'TRENDING_UP', 'VOLATILE'])
    expect((await collect(store.read(stream)))[3]?.data.previous).toEqual({
      barClose: T0 + 2 * HOUR_MS,
      regime: 'VOLATILE',
    })
  })

  test('is what the other replica recorded, where a race was lost', async () => {
    const store = openStore()
    const behind = recorderOn(store)
    await behind.record([draft(0, { regime: 'RANGING' })])
    await recorderOn(store).record([draft(1, { regime: 'VOLATILE' })])
    await behind.record([draft(2, { regime: 'VOLATILE' })])
    expect(await previous(store)).toEqual([null, 'RANGING', 'VOLATILE'])
  })
})

describe('the verdicts without an outcome', () => {
  test('are found behind bars that have none', async () => {
    const store = openStore()
    await recorderOn(store).record([draft(0), draft(4), draft(5)])
    const outcome = { ...outcomeLabelled({ barClose: T0 }).event }
    await store.append(outcomeStream(series), [outcome], { expected: 'no-stream' })
    expect(await openVerdictsOf(store, series)).toMatchObject({ oldestBarClose: T0 + 4 * HOUR_MS, end: 2 })
  })

  test.each([
    [90, 9],
    [39, 60],
  ])(
    'are found, %i labelled and %i after them, without reading a long stream whole',
    async (labelled, open) => {
      const store = openStore()
      await recorderOn(store).record(drafts(0, labelled + open))
      const outcome = outcomeLabelled({ barClose: T0 + (labelled - 1) * HOUR_MS }).event
      await store.append(outcomeStream(series), [outcome], { expected: 'no-stream' })
      const limits: (number | undefined)[] = []
      const read: EventStore['read'] = (name, options) => {
        if (name === stream) limits.push(options?.limit)
        return store.read(name, options)
      }
      expect(await openVerdictsOf({ ...store, read }, series)).toEqual({
        series,
        from: labelled,
        end: labelled + open - 1,
        oldestBarClose: T0 + labelled * HOUR_MS,
      })
      expect(limits).toEqual(open < 32 ? [32] : [32, undefined])
    },
  )
})

describe('a verdict of whose race a bar has closed', () => {
  test.each(['store_unavailable', 'append_unknown'] as const)(
    'is recorded as late, also where the store was away until then (%s)',
    async (code) => {
      const inner = openStore()
      let hour = 1
      const store = failingAppends(
        inner,
        Array.from({ length: 64 }, () => code),
      )
      const { recorder } = recorderOn(store, {
        sleep: async (ms) => void (hour += ms / 600),
        clock: () => T0 + hour * HOUR_MS,
      })
      await recorder.record(series, [draft(1)])
      hour = 4
      await recorder.record(series, [draft(2), draft(3), draft(4)])
      const late = await verdictsOf(inner, series)
      expect(late.map(({ recordedLate }) => recordedLate)).toEqual([true, true, true, false])
    },
  )

  test('is not late in a market that runs faster than its time', async () => {
    const store = openStore()
    await recorderOn(store, { clock: () => T0 + 9 * HOUR_MS, isHurried: () => true }).record([draft(1)])
    expect((await verdictsOf(store, series)).map(({ recordedLate }) => recordedLate)).toEqual([false])
  })
})

describe('a store in trouble', () => {
  test('is waited out; what was lost on its way back is not recorded twice', async () => {
    const store = failingAppends(openStore(), [
      'store_unavailable',
      { after: 'append_unknown' },
      'append_unknown',
      'store_full',
    ])
    const { recorder, record, waited } = recorderOn(store)
    expect(await record(drafts(0, 2))).toHaveLength(2)
    expect(await typesAndHours(store)).toEqual(['VerdictRecorded 0', 'VerdictRecorded 1'])
    expect(waited).toEqual([50, 200, 1_000, 1_000])
    expect(recorder.problem()).toBeUndefined()
  })

  test('shows while it lasts, and ends with the process', async () => {
    const ending = new AbortController()
    const store = failingAppends(
      openStore(),
      Array.from({ length: 9 }, () => 'store_full' as const),
    )
    const seen: (string | undefined)[] = []
    const { recorder } = recorderOn(store, {
      signal: ending.signal,
      async sleep() {
        seen.push(recorder.problem())
        if (seen.length === 3) ending.abort()
      },
    })
    await expect(recorder.record(series, [draft(0)])).rejects.toMatchObject({ code: 'store_full' })
    expect(seen).toHaveLength(3)
    expect(seen[0]).toContain('full')
  })

  test('a refusal that is repeated is thrown', async () => {
    const store = failingAppends(openStore(), ['idempotency_conflict', 'idempotency_conflict'])
    await expect(recorderOn(store).record([draft(0)])).rejects.toMatchObject({
      code: 'idempotency_conflict',
    })
  })
})
