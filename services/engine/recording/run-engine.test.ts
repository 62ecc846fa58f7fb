import { describe, expect, test } from 'vitest'
import type { Candle } from '../../../contracts/domain/candle.ts'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import { outcomeSchema } from '../../../contracts/domain/outcome.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { collect } from '../../log/event-store.contract.ts'
import type { EventStore } from '../../log/event-store.ts'
import { type Board, createBoard } from '../board.ts'
import { type Engine, type EngineReading, type OpenSeries, SeriesEngine } from '../engine.ts'
import { loadModel } from '../model/verdict-model.ts'
import { aDraft, recordingOver } from '../testing/recording.fixture.ts'
import { createOutcomeRecorder } from './outcome-recorder.ts'
import { createRecorder } from './recorder.ts'
import { type RunEngineOptions, runEngine } from './run-engine.ts'

const MINUTE_MS = 60_000
const T0 = Date.UTC(2025, 0, 1)
const BTC: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1m' }
const ETH: Series = { exchange: 'SIM', coin: 'ETH', timeframe: '1m' }

/** An engine that keeps only what it was told, and has a verdict from the third bar on. */
function fakeEngine(): Engine & { readonly heard: string[] } {
  const real = new SeriesEngine({ model: loadModel() })
  const heard: string[] = []
  return {
    heard,
    modelVersion: 'fake-1',
    get seriesCount() {
      return real.seriesCount
    },
    open: (series) => real.open(series),
    close(opened) {
      heard.push(`close ${opened.series.coin}`)
      real.close(opened)
    },
    push(opened, bar) {
      real.push(opened, bar)
      heard.push(`${seriesName(opened.series)} ${(bar.openTime - T0) / MINUTE_MS}`)
    },
    read({ series, state }): EngineReading {
      if (state.bars < 3) return { status: 'insufficient_history', bars: state.bars, barsNeeded: 3 }
      const barClose = state.openTime + MINUTE_MS
      const verdict = aDraft({ ...series, barClose, validUntil: barClose + 15 * MINUTE_MS })
      return { status: 'verdict', verdict, metrics: { rsi14: (barClose - T0) / MINUTE_MS } as never }
    },
  }
}

const batch = (
  minute: number,
  phase: BarBatch['phase'],
  series: readonly Series[],
  rate?: number,
): BarBatch => ({
  at: T0 + (minute + 1) * MINUTE_MS,
  phase,
  bars: series.map((one) => ({
    series: one,
    candle: { openTime: T0 + minute * MINUTE_MS, open: 1, high: 1, low: 1, close: 1, volume: 1 },
  })),
  funding:
    rate === undefined
      ? []
      : [{ market: { exchange: 'SIM', coin: 'BTC' }, funding: { time: T0, rate, intervalHours: 8 } }],
})

/** Gives batches one by one, each after the one before is dealt with; then looks once more. */
async function* feed(batches: readonly BarBatch[], look: () => void): AsyncGenerator<BarBatch> {
  for (const one of batches) {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    look()
    yield one
  }
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  look()
}

/** Gives batches as fast as they are taken. */
async function* readyFeed(batches: readonly BarBatch[]): AsyncGenerator<BarBatch> {
  yield* batches
}

const openStore = (): EventStore => openMemoryStore({ now: () => T0 })
const parts = (store: EventStore) => {
  const recording = recordingOver(store)
  return { recorder: createRecorder(recording), outcomes: createOutcomeRecorder(recording) }
}

async function run(
  batches: readonly BarBatch[],
  series: readonly Series[] = [BTC, ETH],
  given: { store?: EventStore; board?: Board; onBoard?: (board: Board) => void } = {},
) {
  const { store = openStore(), board = createBoard() } = given
  const engine = fakeEngine()
  const recorded: string[] = []
  const funded: string[] = []
  const result = await runEngine({
    engine,
    series,
    board,
    ...parts(store),
    batches: feed(batches, () => given.onBoard?.(board)),
    onRecorded: (verdicts) =>
      void recorded.push(...verdicts.map((one) => `${one.coin} ${(one.barClose - T0) / MINUTE_MS}`)),
    onFunding: (updates) => void funded.push(...updates.map(({ market }) => market.coin)),
  })
  return { engine, recorded, result, board, store, funded }
}

const outcomesIn = async (store: EventStore): Promise<string[]> =>
  (await collect(store.readAll({ filter: { types: ['OutcomeLabelled'] } }))).map(({ data }) => {
    const { coin, barClose, race } = outcomeSchema.parse(data)
    return `${coin} ${(barClose - T0) / MINUTE_MS} ${race}`
  })

describe('following a market', () => {
  test('history is not recorded, but for the newest verdict of each series at the seam', async () => {
    const { recorded } = await run([
      batch(0, 'history', [BTC, ETH]),
      batch(1, 'history', [BTC, ETH]),
      batch(2, 'history', [BTC, ETH]),
      batch(3, 'history', [BTC]),
      { at: T0 + 5 * MINUTE_MS, phase: 'live', bars: [], funding: [] },
    ])
    expect(recorded).toEqual(['ETH 3', 'BTC 4'])
  })

  test('every live bar is recorded, together with the seam where both are ready at once', async () => {
    const { recorded, result } = await run([
      batch(0, 'history', [BTC]),
      batch(1, 'history', [BTC]),
      batch(2, 'history', [BTC]),
      batch(3, 'live', [BTC, ETH]),
      batch(4, 'live', [BTC, ETH]),
      batch(5, 'live', [BTC, ETH]),
    ])
    expect(recorded).toEqual(['BTC 3', 'BTC 4', 'BTC 5', 'BTC 6', 'ETH 6'])
    expect(result).toMatchObject({ bars: 9, recorded: 5, known: 0, withoutVerdict: [] })
  })

  test('bars that a clock is run through are recorded one by one, and not again at the seam', async () => {
    const store = openStore()
    const series = [BTC, ETH]
    const result = await runEngine({
      engine: fakeEngine(),
      series,
      board: createBoard(),
      ...parts(store),
      batches: readyFeed([
        batch(0, 'history', series),
        batch(1, 'history', series),
        batch(2, 'history', [BTC]),
        batch(2, 'run', [ETH]),
        batch(3, 'run', series),
        { at: T0 + 5 * MINUTE_MS, phase: 'live', bars: [], funding: [] },
      ]),
    })
    expect(result).toMatchObject({ recorded: 3, known: 0, closed: [] })
  })

  test('late history of a venue that was away at the start is not recorded', async () => {
    const { recorded } = await run([
      batch(3, 'live', [BTC]),
      { ...batch(0, 'history', [ETH]), isLate: true },
      { ...batch(1, 'history', [ETH]), isLate: true },
      { ...batch(2, 'history', [ETH]), isLate: true },
      { ...batch(3, 'live', [ETH]), isLate: true },
    ])
    expect(recorded).toEqual(['ETH 4'])
  })

  test('series that nobody asked for are passed over; short ones are named at the end; slots are freed', async () => {
    const { engine, result } = await run([batch(0, 'live', [BTC, ETH])], [BTC])
    expect(engine.heard).toEqual(['SIM.BTC.1m 0', 'close BTC'])
    expect(result.withoutVerdict).toEqual(['SIM.BTC.1m'])
  })

  test('a feed that fails ends the run with its error, after freeing the slots', async () => {
    const engine = fakeEngine()
    const failing = (async function* (): AsyncGenerator<BarBatch> {
      yield batch(0, 'live', [BTC])
      throw new Error('damaged')
    })()
    const board = createBoard()
    const running = runEngine({ engine, series: [BTC], board, ...parts(openStore()), batches: failing })
    await expect(running).rejects.toThrow('damaged')
    expect(engine.heard.at(-1)).toBe('close BTC')
    expect([...board.entries()]).toEqual([])
  })

  test('a large universe leaves room in the queue of the store', async () => {
    const store = openStore()
    const universe = Array.from({ length: 5_000 }, (_, n): Series => ({ ...BTC, coin: `C${n}` }))
    let waiting = 0
    let most = 0
    const queued: EventStore = {
      ...store,
      async append(...append) {
        most = Math.max(most, ++waiting)
        await new Promise((resolve) => setImmediate(resolve))
        waiting -= 1
        return store.append(...append)
      },
    }
    const batches = [0, 1, 2].map((minute) => batch(minute, minute < 2 ? 'history' : 'live', universe))
    const { recorded } = await run(batches, universe, { store: queued })
    expect(recorded).toHaveLength(5_000)
    expect(most).toBeLessThanOrEqual(LIMITS.appendQueue / 2)
  })

  test('funding is passed on, of other markets too', async () => {
    const { funded } = await run([batch(0, 'live', [ETH], 0.001), batch(1, 'live', [ETH])], [ETH])
    expect(funded).toEqual(['BTC'])
  })
})

describe('what one series cannot digest is its own fault', () => {
  const both = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => batch(from + index, 'live', [BTC, ETH]))
  const failingFor = (coin: string, when: (at: number) => boolean, what: 'push' | 'read' | 'open') => {
    const engine = fakeEngine()
    return {
      ...engine,
      open(series: Series) {
        if (what === 'open' && series.coin === coin) throw new Error('already open')
        return engine.open(series)
      },
      push(opened: OpenSeries, bar: Candle) {
        if (what === 'push' && opened.series.coin === coin && when(bar.openTime))
          throw new Error('no such bar')
        engine.push(opened, bar)
      },
      read(opened: OpenSeries) {
        if (what === 'read' && opened.series.coin === coin) throw new Error('cannot be computed')
        return engine.read(opened)
      },
    }
  }
  const bad = (minute: number, change: Partial<Candle>): BarBatch => {
    const one = batch(minute, 'live', [BTC, ETH])
    return {
      ...one,
      bars: one.bars.map((bar) =>
        bar.series === ETH ? { ...bar, candle: { ...bar.candle, ...change } } : bar,
      ),
    }
  }
  async function runWith(batches: readonly BarBatch[], change: Partial<RunEngineOptions> = {}) {
    const told: string[] = []
    const refused: string[] = []
    const store = openStore()
    const board = createBoard()
    const result = await runEngine({
      engine: fakeEngine(),
      series: [BTC, ETH],
      board,
      ...parts(store),
      batches: feed(batches, () => undefined),
      onClosed: (series, error) => void told.push(`${series.coin} ${error.code} ${error.message}`),
      onRefused: (market, fault) => void refused.push(`${market.coin} ${fault}`),
      ...change,
    })
    const recorded = await collect(store.readAll({ filter: { types: ['VerdictRecorded'] } }))
    return {
      result,
      told,
      refused,
      board,
      counted: (coin: string) => recorded.filter(({ data }) => data.coin === coin).length,
    }
  }

  test.each(['push', 'read', 'open'] as const)(
    'a series that fails to %s is closed and told; the other goes on',
    async (what) => {
      const engine = failingFor('ETH', (at) => at >= T0 + 5 * MINUTE_MS, what)
      const { result, told, counted, board } = await runWith(both(0, 10), { engine })
      expect(counted('BTC')).toBe(8)
      expect(counted('ETH')).toBe(what === 'push' ? 3 : 0)
      expect(result.closed).toEqual(['SIM.ETH.1m'])
      expect(told).toEqual([expect.stringContaining('ETH internal_error SIM.ETH.1m cannot be followed')])
      expect(board.get(ETH)).toBeUndefined()
    },
  )

  test.each(['verdict-SIM.ETH.1m', 'outcome-SIM.ETH.1m'])(
    'so is one whose %s cannot be appended to',
    async (stream) => {
      const store = openStore()
      const full: EventStore = {
        ...store,
        append: (to, ...rest) =>
          to === stream
            ? Promise.reject(new ServiceError('event_invalid', { message: 'no' }))
            : store.append(to, ...rest),
      }
      const { result, told } = await runWith(both(0, 25), { ...parts(full) })
      expect(told).toEqual(['ETH event_invalid no'])
      expect(result.closed).toEqual(['SIM.ETH.1m'])
      expect(await outcomesIn(store)).toContain('BTC 8 timeout')
    },
  )

  test('a run whose series are all closed ends', async () => {
    const never = (async function* (): AsyncGenerator<BarBatch> {
      yield* both(0, 4)
      await new Promise(() => undefined)
    })()
    const engine = failingFor('ETH', () => true, 'push')
    const { result } = await runWith([], { engine, series: [ETH], batches: never })
    expect(result.closed).toEqual(['SIM.ETH.1m'])
  })

  test.each([
    ['malformed', { low: -1 }],
    ['malformed', { close: Number.NaN }],
    ['malformed', { volume: Number.NaN }],
    ['absurd', { high: 1e9 }],
    ['out_of_order', { openTime: T0 + 4 * MINUTE_MS }],
    ['misdated', { openTime: T0 + 4_000 * MINUTE_MS }],
  ] as const)(
    'a bar that is %s is refused and counted, and nothing is recorded from it: %o',
    async (fault, change) => {
      const at = 'openTime' in change && fault === 'out_of_order' ? { at: change.openTime + MINUTE_MS } : {}
      const engine = new SeriesEngine({ model: loadModel() })
      const { refused, told, result } = await runWith(
        [...both(0, 5), { ...bad(5, change), ...at }, ...both(6, 8)],
        { engine },
      )
      expect(refused).toContain(`ETH ${fault}`)
      expect(told).toEqual([])
      expect(result.bars).toBe(15 - (at.at === undefined ? 0 : 1))
    },
  )

  test('a bar of the future is refused, so that those of the present are not taken for old', async () => {
    const clock = () => T0 + 8 * MINUTE_MS
    const { refused, counted } = await runWith([...both(0, 5), batch(4_000, 'live', [ETH]), ...both(5, 8)], {
      clock,
    })
    expect(refused).toEqual(['ETH misdated'])
    expect(counted('ETH')).toBe(6)
  })

  test('a series that gets nothing but bars that are refused is closed', async () => {
    const engine = new SeriesEngine({ model: loadModel() })
    const bars = [5, 6, 7, 8].map((minute) => bad(minute, { low: -1 }))
    const { refused, told } = await runWith([...both(0, 5), ...bars], { engine })
    expect(refused).toHaveLength(3)
    expect(told).toEqual([expect.stringContaining('ETH internal_error A bar of SIM.ETH.1m was refused')])
  })

  test('a funding that cannot be reaches nobody', async () => {
    const funded: string[] = []
    const { refused } = await runWith([batch(0, 'live', [BTC], Number.NaN), batch(1, 'live', [BTC], 0.001)], {
      onFunding: (updates) => void funded.push(...updates.map(({ funding }) => String(funding.rate))),
    })
    expect([refused, funded]).toEqual([['BTC funding'], ['0.001']])
  })
})

describe('labelling', () => {
  const live = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => batch(from + index, 'live', [BTC]))

  test('every verdict is labelled once the last bar of its window has closed', async () => {
    expect(await outcomesIn((await run(live(0, 17), [BTC])).store)).toEqual([])
    const { store, result } = await run(live(0, 19), [BTC])
    expect(await outcomesIn(store)).toEqual(['BTC 3 timeout', 'BTC 4 timeout'])
    expect(result.labelled).toBe(2)
  })

  test('as many outcomes are counted as the log has, where several series are labelled at a time', async () => {
    const coins = ['BTC', 'ETH', 'SOL', 'XRP'].map((coin): Series => ({ ...BTC, coin }))
    const batches = Array.from({ length: 30 }, (_, minute) => batch(minute, 'live', coins))
    const { store, result } = await run(batches, coins)
    const inLog = await outcomesIn(store)
    expect(inLog).toHaveLength(4 * (30 - 2 - 15))
    expect(result.labelled).toBe(inLog.length)
  })

  /** Prices that swing by 2 % within some ten bars: races end in every way. */
  const swinging = (from: number, to: number): BarBatch[] =>
    live(from, to).map((one) => ({
      ...one,
      bars: one.bars.map(({ series, candle }) => {
        const place = (candle.openTime - T0) / MINUTE_MS
        const [open, close] = [place, place + 1].map((at) => 100 + 1.3 * Math.sin(at / (3 + (at % 60) / 10)))
        const bar = { ...candle, open: open ?? 100, close: close ?? 100 }
        const [low, high] = [Math.min(bar.open, bar.close) - 0.1, Math.max(bar.open, bar.close) + 0.1]
        return { series, candle: { ...bar, high, low: place % 50 === 7 ? 97 : low } }
      }),
    }))

  test('outcomes are the same in one go, one by one, and in pieces with restarts between them', async () => {
    const [whole, single, pieces] = [openStore(), openStore(), openStore()]
    const at = { engine: fakeEngine(), series: [BTC], board: createBoard() }
    const { labelled } = await runEngine({ ...at, ...parts(whole), batches: readyFeed(swinging(0, 200)) })
    expect(labelled).toBe(200 - 2 - 15)
    await run(swinging(0, 200), [BTC], { store: single })
    for (const [from, to] of [
      [0, 40],
      [40, 41],
      [41, 90],
      [90, 200],
    ] as const) {
      // Each start is warmed up with bars from before the oldest open verdict.
      const history = swinging(Math.max(0, from - 20), from).map((one) => ({
        ...one,
        phase: 'history' as const,
      }))
      await run([...history, ...swinging(from, to)], [BTC], { store: pieces })
    }
    const expected = await outcomesIn(whole)
    expect(new Set(expected.map((line) => line.split(' ')[2])).size).toBeGreaterThan(2)
    expect(await outcomesIn(single)).toEqual(expected)
    expect(await outcomesIn(pieces)).toEqual(expected)
  })
})

describe('the board', () => {
  const batches = [
    batch(0, 'history', [BTC]),
    batch(1, 'history', [BTC]),
    batch(2, 'history', [BTC]),
    { at: T0 + 3 * MINUTE_MS, phase: 'live' as const, bars: [], funding: [] },
    batch(3, 'live', [BTC]),
  ]
  const lookAt = async (given: { store?: EventStore } = {}): Promise<string[]> => {
    const seen: string[] = []
    await run(batches, [BTC], {
      ...given,
      onBoard(board) {
        const { bars, recorded } = board.get(BTC) ?? {}
        const at = recorded && (recorded.verdict.barClose - T0) / MINUTE_MS
        seen.push(`${bars} bars: ${at}, measured at ${recorded?.metrics.rsi14}`)
      },
    })
    return seen
  }

  test('says how many bars there are, then the newest verdict with what was measured at its bar', async () => {
    const expected = [
      '0 bars: undefined, measured at undefined',
      '1 bars: undefined, measured at undefined',
      '2 bars: undefined, measured at undefined',
      '3 bars: undefined, measured at undefined',
      '3 bars: 3, measured at 3',
      '4 bars: 4, measured at 4',
    ]
    expect(await lookAt()).toEqual(expected)
  })

  test('shows after a restart what the log had already', async () => {
    const store = openStore()
    const first = await run(batches, [BTC], { store })
    expect(first.result.recorded).toBe(2)
    expect((await lookAt({ store })).at(-1)).toBe('4 bars: 4, measured at 4')
  })

  test('shows the verdict of another process that was first', async () => {
    const store = openStore()
    const theirs = aDraft({ ...BTC, barClose: T0 + 4 * MINUTE_MS, call: 'SELL' })
    const seen: (string | undefined)[] = []
    await run(batches, [BTC], {
      store: {
        ...store,
        async append(...args) {
          // They were quicker with the last bar.
          if (seen.length === 5) await parts(store).recorder.record(BTC, [theirs])
          return store.append(...args)
        },
      },
      onBoard: (board) => void seen.push(board.get(BTC)?.recorded?.verdict.call),
    })
    expect(seen.slice(-2)).toEqual(['HOLD', 'SELL'])
  })

  test('learns at the seam that a history has ended, also where it was too short', async () => {
    const seen: (boolean | undefined)[] = []
    const short = [batch(0, 'history', [BTC]), ...batches.slice(3, 4)]
    await run(short, [BTC], { onBoard: (board) => void seen.push(board.get(BTC)?.isLive) })
    expect(seen).toEqual([false, false, true])
  })

  test('is complete up to a bar when all that were taken with it are durable', async () => {
    const store = openStore()
    const board = createBoard()
    const seen: string[] = []
    const minute = (instant = T0): number => Math.max(0, (instant - T0) / MINUTE_MS)
    const slow: EventStore = {
      ...store,
      async append(stream, ...rest) {
        // ETH is recorded when BTC has long been.
        for (let turn = 0; turn < 20 && stream.includes('ETH'); turn++)
          await new Promise((resolve) => setImmediate(resolve))
        if (stream === 'verdict-SIM.ETH.1m') {
          seen.push(`BTC at ${minute(board.get(BTC)?.barClose)}, complete to ${minute(board.watermark())}`)
        }
        return store.append(stream, ...rest)
      },
    }
    const both = [0, 1, 2].map((at) => batch(at, 'history', [BTC, ETH]))
    const live = [3, 4, 5, 6].map((at) => batch(at, 'live', [BTC, ETH]))
    const end = await run([...both, ...live], [BTC, ETH], { store: slow, board })
    expect(seen.at(-1)).toBe('BTC at 7, complete to 6')
    expect(minute(end.board.watermark())).toBe(7)
  })

  test('never shows a verdict of a bar that was not reached here', async () => {
    const store = openStore()
    await run([...batches, batch(4, 'live', [BTC])], [BTC], { store })
    const seen = await lookAt({ store })
    expect(seen.at(-1)).toBe('4 bars: undefined, measured at undefined')
  })
})
