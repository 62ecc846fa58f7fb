import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Series } from '../../../contracts/series.ts'
import { verdictStream } from '../../../contracts/streams.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import { collect } from '../../platform/event-store/event-store.contract.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import { openMemoryStore } from '../../platform/event-store/memory/memory-store.ts'
import { createFactIds } from '../../platform/ids/fact-id.ts'
import type { VerdictDraft } from '../engine.ts'
import { createRecorder, type Recorder } from './recorder.ts'

const HOUR_MS = 3_600_000
const T0 = Date.UTC(2025, 0, 1)
const series: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }
const stream = verdictStream(series)

const openStore = (): EventStore => openMemoryStore({ now: () => T0 })

function draft(hour: number, change: Partial<VerdictDraft> = {}): VerdictDraft {
  const { verdictId: _none, ...verdict } = aVerdict({ ...series, barClose: T0 + hour * HOUR_MS, ...change })
  return verdict
}
const drafts = (from: number, to: number, change: Partial<VerdictDraft> = {}): VerdictDraft[] =>
  Array.from({ length: to - from }, (_, index) => draft(from + index, change))

interface Waits {
  /** Records drafts of the series, and answers what was added. */
  readonly record: (given: Parameters<Recorder['record']>[1]) => Promise<readonly Verdict[]>
  readonly recorder: Recorder
  readonly waited: number[]
}
function recorderOn(store: EventStore, secret = 'secret', signal = new AbortController().signal): Waits {
  const waited: number[] = []
  const recorder = createRecorder({
    store,
    signal,
    idOf: createFactIds(Buffer.from(secret)),
    sleep: async (ms) => void waited.push(ms),
  })
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

  test('more verdicts than one append takes are all recorded', async () => {
    const store = openStore()
    const alternating = Array.from({ length: 450 }, (_, hour) =>
      draft(hour, { regime: hour % 2 === 0 ? 'RANGING' : 'VOLATILE' }),
    )
    expect(await recorderOn(store).record(alternating)).toHaveLength(450)
    expect(await collect(store.read(stream))).toHaveLength(450 + 449)
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
      ['a', 'a', 'b'].map((secret) => recorderOn(openStore(), secret).record([draft(0)])),
    )
    expect(one).toEqual(again)
    expect(one?.[0]?.verdictId).not.toBe(other?.[0]?.verdictId)
    expect(one?.[0]?.verdictId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8/)
  })
})

describe('regime shifts', () => {
  test('stand behind the verdict that brought them, in its append', async () => {
    const store = openStore()
    await recorderOn(store).record([
      draft(0, { regime: 'RANGING' }),
      draft(1, { regime: 'RANGING' }),
      draft(2, { regime: 'TRENDING_UP' }),
      draft(3, { regime: 'VOLATILE' }),
    ])
    expect(await typesAndHours(store)).toEqual([
      'VerdictRecorded 0',
      'VerdictRecorded 1',
      'VerdictRecorded 2',
      'RegimeShifted 2',
      'VerdictRecorded 3',
      'RegimeShifted 3',
    ])
    const shift = (await collect(store.read(stream)))[3]
    expect(shift?.data).toMatchObject({ regime: 'TRENDING_UP', priorRegime: 'RANGING' })
    expect(shift?.meta.causationId).toBe(shift?.data.verdictId)
  })

  test('are measured against the recorded predecessor, also over a restart behind a shift', async () => {
    const store = openStore()
    await recorderOn(store).record([draft(0, { regime: 'RANGING' }), draft(1, { regime: 'VOLATILE' })])
    await recorderOn(store).record([draft(2, { regime: 'VOLATILE' })])
    await recorderOn(store).record([draft(9, { regime: 'RANGING' })])
    expect((await typesAndHours(store)).filter((line) => line.startsWith('Regime'))).toEqual([
      'RegimeShifted 1',
      'RegimeShifted 9',
    ])
  })

  test('a lost race measures again against what the other replica recorded', async () => {
    const store = openStore()
    const behind = recorderOn(store)
    await behind.record([draft(0, { regime: 'RANGING' })])
    await recorderOn(store).record([draft(1, { regime: 'VOLATILE' })])
    await behind.record([draft(2, { regime: 'VOLATILE' })])
    expect((await typesAndHours(store)).slice(-1)).toEqual(['VerdictRecorded 2'])
  })
})

describe('a store in trouble', () => {
  /** A store whose next appends fail: before they happened, or after. */
  function troubled(
    failures: { code: 'append_unknown' | 'store_unavailable' | 'store_full'; happened: boolean }[],
  ) {
    const inner = openStore()
    const store: EventStore = {
      ...inner,
      async append(...args) {
        const failure = failures.shift()
        if (failure === undefined) return inner.append(...args)
        if (failure.happened) await inner.append(...args)
        throw new ServiceError(failure.code)
      },
    }
    return store
  }

  test('is waited out; what was lost on its way back is not recorded twice', async () => {
    const store = troubled([
      { code: 'store_unavailable', happened: false },
      { code: 'append_unknown', happened: true },
      { code: 'append_unknown', happened: false },
      { code: 'store_full', happened: false },
    ])
    const { recorder, record, waited } = recorderOn(store)
    expect(await record(drafts(0, 2))).toHaveLength(2)
    expect(await typesAndHours(store)).toEqual(['VerdictRecorded 0', 'VerdictRecorded 1'])
    expect(waited).toEqual([50, 200, 1_000, 5_000])
    expect(recorder.trouble()).toBeUndefined()
  })

  test('shows while it lasts, and ends with the process', async () => {
    const ending = new AbortController()
    const store = troubled(
      Array.from({ length: 9 }, () => ({ code: 'store_full' as const, happened: false })),
    )
    const seen: (string | undefined)[] = []
    const recorder = createRecorder({
      store,
      signal: ending.signal,
      idOf: createFactIds(Buffer.from('secret')),
      async sleep() {
        seen.push(recorder.trouble())
        if (seen.length === 3) ending.abort()
      },
    })
    await expect(recorder.record(series, [draft(0)])).rejects.toMatchObject({ code: 'store_full' })
    expect(seen).toHaveLength(3)
    expect(seen[0]).toContain('full')
  })

  test('a refusal that waiting cannot cure is thrown at once', async () => {
    const inner = openStore()
    const store: EventStore = {
      ...inner,
      append: () => Promise.reject(new ServiceError('idempotency_conflict')),
    }
    await expect(recorderOn(store).record([draft(0)])).rejects.toMatchObject({
      code: 'idempotency_conflict',
    })
  })
})
