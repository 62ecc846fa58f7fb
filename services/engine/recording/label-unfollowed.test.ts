import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { Candle } from '../../../contracts/domain/candle.ts'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import type { Outcome } from '../../../contracts/domain/outcome.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { outcomeStream, verdictStream } from '../../../contracts/events/streams.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { createFakeClock } from '../../../testing/time/fake-clock.fixture.ts'
import { collect } from '../../log/event-store.contract.ts'
import { aDraft, recordingOver } from '../testing/recording.fixture.ts'
import { labelUnfollowed } from './label-unfollowed.ts'
import { createOutcomeRecorder } from './outcome-recorder.ts'
import { createRecorder } from './recorder.ts'

const T0 = Date.UTC(2025, 0, 1)
const WINDOW = 8
const BTC: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }
const ETH: Series = { ...BTC, coin: 'ETH' }

/** A bar of a market that rises by 1 % an hour, so that the upper barrier always comes first. */
const bar = (hour: number): Candle => {
  const open = 100 * 1.01 ** hour
  return { openTime: T0 + hour * HOUR_MS, open, high: open * 1.01, low: open, close: open * 1.01, volume: 1 }
}

/** Three hourly verdicts of each series in the log, which nobody follows; hours are those of market time. */
async function begin(
  series: readonly Series[],
  options: { readonly fails?: () => 'venue_unavailable' | 'market_data_missing' | undefined } = {},
) {
  const time = createFakeClock(T0 + 3 * HOUR_MS)
  const ending = new AbortController()
  const store = openMemoryStore({ now: time.now })
  const followed = new Set<string>()
  const gone = new Set<string>()
  const failures: string[] = []
  const asked: string[] = []
  const recording = { ...recordingOver(store), signal: ending.signal, sleep: time.sleep }
  const recorder = createRecorder(recording)
  for (const one of series) {
    const drafts = [1, 2, 3].map((hour) => {
      const barClose = T0 + hour * HOUR_MS
      const window = { barClose, validUntil: barClose + WINDOW * HOUR_MS, barrier: 0.005 }
      return aDraft({ ...one, ...window })
    })
    await recorder.record(one, drafts)
  }

  async function* batches(request: {
    readonly series: readonly Series[]
    readonly signal: AbortSignal
  }): AsyncGenerator<BarBatch> {
    const [one = BTC] = request.series
    asked.push(one.coin)
    const failure = options.fails?.()
    if (failure !== undefined) throw new ServiceError(failure)
    const now = time.now()
    for (let hour = 0; T0 + (hour + 1) * HOUR_MS <= now; hour++) {
      const at = T0 + (hour + 1) * HOUR_MS
      yield { at, phase: 'history', bars: [{ series: one, candle: bar(hour) }], funding: [] }
    }
    yield { at: now, phase: 'live', bars: [], funding: [] }
    // A live market goes on; nobody may wait for its next bar.
    await once(request.signal, 'abort')
  }

  async function newest(): Promise<Verdict[]> {
    const streams = await Promise.all(series.map((one) => collect(store.read(verdictStream(one)))))
    return streams.flatMap((events) => (events.at(-1)?.data ?? []) as Verdict)
  }
  const verdicts = await newest()
  const ofRuns = createOutcomeRecorder(recording)
  const running = labelUnfollowed({
    ...recording,
    outcomes: createOutcomeRecorder(recording),
    newestVerdicts: () => verdicts,
    isFollowed: (one) => followed.has(seriesName(one)),
    isGone: (one) => gone.has(seriesName(one)),
    followed: ofRuns,
    batches,
    clock: time.now,
    onFailure: (one, { code }) => failures.push(`${one.coin} ${code}`),
  })

  return {
    followed,
    gone,
    ofRuns,
    failures,
    asked,
    /** Lets market time pass in steps of a minute, up to an hour of the day. */
    async until(hour: number) {
      while (time.now() < T0 + hour * HOUR_MS) await time.advance(60_000)
    },
    async outcomes(one: Series) {
      return (await collect(store.read(outcomeStream(one)))).map(({ data }) => {
        const { barClose, race } = data as unknown as Outcome
        return `${(barClose - T0) / HOUR_MS} ${race}`
      })
    },
    verdicts: async () =>
      (await Promise.all(series.map((one) => collect(store.read(verdictStream(one)))))).flat(),
    async end() {
      ending.abort()
      await running
    },
  }
}

describe('verdicts of series that nobody follows', () => {
  test('are labelled when their windows have closed, and no verdict is added', async () => {
    const market = await begin([BTC, ETH])
    await market.until(8.9)
    expect(await market.outcomes(BTC)).toEqual([])
    await market.until(9.1)
    expect(await market.outcomes(BTC)).toEqual(['1 up'])
    await market.until(11.2)
    expect(await market.outcomes(BTC)).toEqual(['1 up', '2 up', '3 up'])
    expect(await market.outcomes(ETH)).toEqual(['1 up', '2 up', '3 up'])
    expect(await market.verdicts()).toHaveLength(6)
    await market.end()
  })

  test('cost no bars before, and none any more when all are labelled', async () => {
    const market = await begin([BTC])
    await market.until(8.9)
    expect(market.asked).toEqual([])
    await market.until(11.5)
    const asked = market.asked.length
    expect(asked).toBeGreaterThan(0)
    await market.until(40)
    expect(market.asked).toHaveLength(asked)
    await market.end()
  })

  test('are left to the run of those that are followed, until that ends', async () => {
    const market = await begin([BTC, ETH])
    market.followed.add(seriesName(BTC))
    await market.until(12)
    expect(await market.outcomes(BTC)).toEqual([])
    expect(await market.outcomes(ETH)).toHaveLength(3)
    market.followed.clear()
    await market.until(12.1)
    expect(await market.outcomes(BTC)).toHaveLength(3)
    await market.end()
  })

  test('are tried again where their exchange does not answer, which is told once', async () => {
    let isAway = true
    const market = await begin([BTC], { fails: () => (isAway ? 'venue_unavailable' : undefined) })
    await market.until(14)
    expect(market.failures).toEqual(['BTC venue_unavailable'])
    isAway = false
    await market.until(16)
    expect(await market.outcomes(BTC)).toHaveLength(3)
    await market.end()
  })

  test('of a coin that its venue lists no more are incomplete a day after their windows, and not asked for again', async () => {
    const market = await begin([BTC], { fails: () => 'market_data_missing' })
    await market.until(9 + 23.9)
    expect(await market.outcomes(BTC)).toEqual([])
    await market.until(9 + 24 + 4)
    expect(await market.outcomes(BTC)).toEqual(['1 incomplete', '2 incomplete', '3 incomplete'])
    const asked = market.asked.length
    await market.until(48)
    expect(market.asked).toHaveLength(asked)
    await market.end()
  })

  test('of an exchange that stays away are incomplete once bars would not be fetched any more', async () => {
    const market = await begin([BTC], { fails: () => 'venue_unavailable' })
    await market.until(7 * 24 + 8.9)
    expect(await market.outcomes(BTC)).toEqual([])
    await market.until(7 * 24 + 13)
    expect(await market.outcomes(BTC)).toHaveLength(3)
    await market.end()
  })

  test('of a market that has ended keep what the run that follows it has seen, and are incomplete beyond', async () => {
    const market = await begin([BTC])
    market.followed.add(seriesName(BTC))
    market.gone.add(seriesName(BTC))
    await market.ofRuns.label(BTC, [bar(0), bar(1)])
    await market.until(8.9)
    expect(await market.outcomes(BTC)).toEqual([])
    await market.until(11.2)
    expect(await market.outcomes(BTC)).toEqual(['1 up', '2 incomplete', '3 incomplete'])
    expect(market.asked).toEqual([])
    await market.end()
  })

  test('of a market that has ended and is not followed do not wait', async () => {
    const market = await begin([BTC], { fails: () => 'market_data_missing' })
    market.gone.add(seriesName(BTC))
    await market.until(14)
    expect(await market.outcomes(BTC)).toHaveLength(3)
    await market.end()
  })
})
