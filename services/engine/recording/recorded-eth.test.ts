import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Candle } from '../../../contracts/domain/candle.ts'
import type { Series } from '../../../contracts/domain/series.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { shiftedFrom, type Verdict } from '../../../contracts/domain/verdict.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { createFakeClock } from '../../../testing/time/fake-clock.fixture.ts'
import { SeriesEngine } from '../engine.ts'
import { loadModel } from '../model/verdict-model.ts'
import { readCandles } from '../testing/read-candles.ts'
import { recordingOver, verdictsOf } from '../testing/recording.fixture.ts'
import { createRecorder } from './recorder.ts'

const FILE = '../shared/data/binance-usdm/ETHUSDT-1h.csv.gz'
const isAbsent = !existsSync(FILE)
const whenPresent = isAbsent ? ` (skipped: no recorded data at ${FILE})` : ''
const series: Series = { exchange: 'BINANCE', coin: 'ETH', timeframe: '1h' }
const WATCHED = 400
const model = loadModel()

/** A log by the market's clock, and engines that read and record the same bars. */
function aWorld(bars: readonly Candle[]) {
  const closeOf = (index: number): number => (bars[index]?.openTime ?? Number.NaN) + HOUR_MS
  const time = createFakeClock(closeOf(0))
  const store = openMemoryStore({ now: time.now })

  /** One that has seen so many bars before those that are watched. */
  function engine(past: number, holds: () => boolean) {
    const computing = new SeriesEngine({ model })
    const slot = computing.open(series)
    const recorder = createRecorder({ ...recordingOver(store), holds, clock: time.now, sleep: time.sleep })
    for (const bar of bars.slice(bars.length - WATCHED - past, -WATCHED)) computing.push(slot, bar)
    return {
      draft(index: number) {
        computing.push(slot, bars[index] as Candle)
        const reading = computing.read(slot)
        return reading.status === 'verdict' ? reading.verdict : expect.fail('There are too few bars.')
      },
      record: (drafts: Parameters<typeof recorder.record>[1]) => recorder.record(series, drafts),
    }
  }
  return {
    closeOf,
    time,
    engine,
    verdicts: (): Promise<Verdict[]> => verdictsOf(store, series),
  }
}

const countShifts = (verdicts: readonly Verdict[]): number =>
  verdicts.filter((verdict) => shiftedFrom(verdict) !== undefined).length

describe.skipIf(isAbsent)(`engines over recorded bars${whenPresent}`, () => {
  const bars = isAbsent ? [] : readCandles(FILE)
  const first = bars.length - WATCHED

  test('two whose pasts differ, first in turns, shift no more often than one; a change of hands adds one at most', async () => {
    /** Engines by how many bars they saw, and which of them holds the exchange at a bar. */
    async function run(
      pasts: readonly number[],
      holds: (who: number, index: number) => boolean,
    ): Promise<Verdict[]> {
      const world = aWorld(bars)
      let index = first
      const engines = pasts.map((past, who) => world.engine(past, () => holds(who, index)))
      for (; index < bars.length; index++) {
        await world.time.advance(world.closeOf(index) - world.time.now())
        const inTurn = index % 2 === 0 ? engines : engines.toReversed()
        const recording = inTurn.map((one) => one.record([one.draft(index)]))
        await world.time.advance(2_000)
        await Promise.all(recording)
      }
      return world.verdicts()
    }
    const alone = await run([2_600], () => true)
    const together = await run([2_600, 600], (who) => who === 0)
    const handed = await run([2_600, 600], (who, index) => who === (index < first + WATCHED / 2 ? 0 : 1))
    const unordered = await run([2_600, 600], () => true)
    expect([alone, together, handed, unordered].map(({ length }) => length)).toEqual(Array(4).fill(WATCHED))
    expect(together).toEqual(alone)
    // Who has seen less may see another regime, until it has seen as much.
    expect(countShifts(handed)).toBeLessThanOrEqual(countShifts(alone) + 1)
    // Otherwise nothing of this was tried.
    expect(countShifts(unordered)).toBeGreaterThan(countShifts(alone) + 1)
  }, 60_000)

  test('one that slept for thirty hours records as late all but the newest, whose race has not begun', async () => {
    const world = aWorld(bars)
    const engine = world.engine(1_620, () => true)
    const drafts = Array.from({ length: 30 }, (_, hour) => engine.draft(first + hour))
    await world.time.advance(world.closeOf(first + 29) - world.time.now())
    await engine.record(drafts)
    const now = world.time.now()
    const verdicts = await world.verdicts()
    expect(verdicts.map(({ recordedLate }) => recordedLate)).toEqual(
      drafts.map(({ barClose }) => barClose + HOUR_MS <= now),
    )
    expect(new Set(verdicts.map(({ recordedLate }) => recordedLate)).size).toBe(2)
  })
})
