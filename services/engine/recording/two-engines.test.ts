import { describe, expect, test } from 'vitest'
import { EXCHANGES, type Series } from '../../../contracts/domain/series.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import { shiftedFrom, type Verdict } from '../../../contracts/domain/verdict.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { createFakeClock } from '../../../testing/time/fake-clock.fixture.ts'
import type { EventStore } from '../../log/event-store.ts'
import { SharedLeases } from '../../log/leases/shared-leases.ts'
import type { VerdictDraft } from '../engine.ts'
import { recordingOver, verdictsOf } from '../testing/recording.fixture.ts'
import { createRecorder, type Recorded } from './recorder.ts'

const T0 = Date.UTC(2025, 0, 1)
const series: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }

/** A log, a clock, and engines whose pasts differ: each sees another regime, and says who it is. */
function aWorld() {
  const time = createFakeClock(T0)
  const inner = openMemoryStore({ now: time.now })
  let frozen: { readonly by: string; readonly until: Promise<void> } | undefined
  const ending = new AbortController()

  function engine(name: string, holds: () => boolean, isMonitored = true) {
    const store: EventStore = {
      ...inner,
      async append(...args) {
        if (frozen?.by === name) await frozen.until
        return inner.append(...args)
      },
    }
    const recorder = createRecorder({
      ...recordingOver(store),
      signal: ending.signal,
      sleep: time.sleep,
      holds,
      isMonitored: () => isMonitored,
    })
    const draft = (hour: number): VerdictDraft => {
      const barClose = T0 + hour * HOUR_MS
      const regime = name === 'A' ? 'RANGING' : 'VOLATILE'
      return aVerdict({ ...series, barClose, validUntil: barClose + HOUR_MS, regime, modelVersion: name })
    }
    return {
      record: (...hours: number[]): Promise<Recorded> => recorder.record(series, hours.map(draft)),
    }
  }

  const verdicts = (): Promise<Verdict[]> => verdictsOf(inner, series)

  return {
    time,
    ending,
    store: inner,
    engine,
    freeze(by: string) {
      const { promise, resolve } = Promise.withResolvers<void>()
      frozen = { by, until: promise }
      return () => {
        frozen = undefined
        resolve()
      }
    },
    /** The engine that recorded each hour. */
    who: async () =>
      (await verdicts()).map(({ modelVersion, barClose }) => `${modelVersion}${(barClose - T0) / HOUR_MS}`),
    shifts: async () => (await verdicts()).filter((verdict) => shiftedFrom(verdict) !== undefined).length,
  }
}

describe('two engines over one log', () => {
  test('first in turns, leave the stream of the one that holds the exchange, without a shift', async () => {
    const world = aWorld()
    const [a, b] = [world.engine('A', () => true), world.engine('B', () => false)]
    const adopted: unknown[] = []
    await a.record(0)
    for (let hour = 1; hour <= 20; hour++) {
      const first = hour % 2 === 0 ? a.record(hour) : undefined
      const second = b.record(hour)
      await world.time.advance(100)
      await (first ?? a.record(hour))
      await world.time.advance(2_000)
      adopted.push((await second).end.newest?.modelVersion)
    }
    expect(await world.who()).toEqual(Array.from({ length: 21 }, (_, hour) => `A${hour}`))
    expect(await world.shifts()).toBe(0)
    expect(new Set(adopted)).toEqual(new Set(['A']))
    expect(world.time.now() - T0).toBeLessThan(20 * 3_000)
  })

  test('a holder that dies is followed by the other within seconds, and no bar is left out', async () => {
    const world = aWorld()
    const signals = { A: new AbortController(), B: new AbortController() }
    const leasesOf = (holder: 'A' | 'B') => {
      let ids = 0
      const leases = new SharedLeases({
        store: holder === 'A' ? dying(world.store, signals.A.signal) : world.store,
        group: 'engine',
        shards: EXCHANGES.length,
        holder,
        newId: () =>
          `0190a000-0000-7000-8000-${holder === 'A' ? 'a' : 'b'}${String(ids++).padStart(11, '0')}`,
        elapsed: world.time.now,
        now: world.time.now,
        sleep: world.time.sleep,
        report: () => undefined,
      })
      const nothing = async (): Promise<void> => undefined
      void leases.run({ gained: nothing, lost: nothing }, world.ending.signal)
      return () => leases.held().some(({ shard }) => EXCHANGES[shard] === series.exchange)
    }
    const a = world.engine('A', leasesOf('A'))
    await world.time.advance(100)
    const b = world.engine('B', leasesOf('B'))
    await world.time.advance(4_000)
    await a.record(0, 1)
    signals.A.abort()
    const diedAt = world.time.now()
    const late = b.record(2, 3)
    for (let passed = 0; (await world.who()).length < 4 && passed < 60; passed++)
      await world.time.advance(1_000)
    expect(world.time.now() - diedAt).toBeLessThanOrEqual(16_000)
    await late
    await b.record(4)
    expect(await world.who()).toEqual(['A0', 'A1', 'B2', 'B3', 'B4'])
    expect(await world.shifts()).toBe(1)
    world.ending.abort()
    await world.time.advance(1_000)
  })

  test('a holder that was frozen adopts what the other recorded meanwhile, and changes nothing', async () => {
    const world = aWorld()
    let holder = 'A'
    const [a, b] = [world.engine('A', () => holder === 'A'), world.engine('B', () => holder === 'B')]
    await a.record(0)
    holder = 'B'
    await b.record(1, 2, 3)
    const woken = await a.record(1, 2)
    expect(woken.added).toEqual([])
    expect(woken.end.newest?.modelVersion).toBe('B')
    const behind = a.record(4)
    await b.record(4)
    await world.time.advance(2_000)
    expect((await behind).added).toEqual([])
    expect(await world.who()).toEqual(['A0', 'B1', 'B2', 'B3', 'B4'])
    expect(await world.shifts()).toBe(1)
  })

  test('a lease that is lost in mid-append leaves one verdict a bar: the append has its place, or finds it taken', async () => {
    const world = aWorld()
    let holder = 'A'
    const [a, b] = [world.engine('A', () => holder === 'A'), world.engine('B', () => holder === 'B')]
    await a.record(0)
    const thaw = world.freeze('A')
    const underWay = a.record(1)
    await world.time.advance(100)
    holder = 'B'
    await b.record(1, 2)
    thaw()
    await world.time.advance(5_000)
    expect((await underWay).added).toEqual([])
    expect(await world.who()).toEqual(['A0', 'B1', 'B2'])
  })

  test('a series that the holder does not record is recorded by the other, until the holder does', async () => {
    const world = aWorld()
    const [a, b] = [world.engine('A', () => true), world.engine('B', () => false)]
    const first = b.record(0)
    await world.time.advance(20_000)
    expect((await first).added).toHaveLength(1)
    for (const hour of [1, 2]) {
      const recording = b.record(hour)
      await world.time.advance(2_000)
      expect((await recording).added).toHaveLength(1)
    }
    const adopting = b.record(3)
    await a.record(3)
    await world.time.advance(2_000)
    expect((await adopting).added).toEqual([])
    expect(await world.who()).toEqual(['B0', 'B1', 'B2', 'A3'])
  })

  test('a series that somebody asked for is recorded by the engine that follows it', async () => {
    const world = aWorld()
    const b = world.engine('B', () => false, false)
    expect((await b.record(0)).added).toHaveLength(1)
  })

  test('one that begins leaves the bars before to the one that was kept from recording them', async () => {
    const world = aWorld()
    const [a, b] = [world.engine('A', () => true), world.engine('B', () => false)]
    await a.record(0)
    const thaw = world.freeze('A')
    const late = a.record(1, 2, 3)
    const begun = b.record(4)
    await world.time.advance(3_000)
    thaw()
    await late
    await a.record(4)
    await world.time.advance(3_000)
    expect((await begun).added).toEqual([])
    expect(await world.who()).toEqual(['A0', 'A1', 'A2', 'A3', 'A4'])
  })

  test('one that stands by and is told to end records nothing', async () => {
    const world = aWorld()
    await world.engine('A', () => true).record(0)
    const waiting = world.engine('B', () => false).record(1)
    await world.time.advance(300)
    world.ending.abort()
    expect((await waiting).added).toEqual([])
    expect(await world.who()).toEqual(['A0'])
  })
})

/** A store that takes nothing any more of a process that is dead. */
const dying = (store: EventStore, dead: AbortSignal): EventStore => ({
  ...store,
  append: (...args) => (dead.aborted ? new Promise(() => undefined) : store.append(...args)),
})
