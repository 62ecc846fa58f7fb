import { expect, test } from 'vitest'
import type { Series } from '../../contracts/domain/series.ts'
import { HOUR_MS, MINUTE_MS, type Timeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import { openWatchList } from '../market/index.ts'
import type { FakeVenue, Fault } from '../market/live/testing/fake-venue.ts'
import { type LiveBench, NOON, startLiveBench } from '../market/live/testing/live-bench.ts'
import type { Route } from '../market/live/testing/venue-format.ts'
import type { LiveExchange } from '../market/live/venues.ts'
import { createRandom } from '../market/simulated/random.ts'
import { createFactIds } from '../runtime/ids/fact-id.ts'
import { createEngineRole, type EngineRole } from './roles/engine-role.ts'
import { FREE_SPEECH } from './roles/speech.fixture.ts'

const VENUES = ['BINANCE', 'OKX', 'HL', 'BYBIT'] as const satisfies readonly LiveExchange[]
const COINS = ['BTC', 'ETH'] as const
const SEEDS = 50

interface Scene {
  readonly exchanges: readonly LiveExchange[]
  readonly coins: readonly string[]
  readonly timeframes: readonly Timeframe[]
  readonly historyBars: number
  readonly ends: number
  /** Sets out what goes wrong and when. */
  readonly problem: (bench: LiveBench) => void
  /** The requests of callers, now and then. */
  readonly ask: () => Series
}

interface Seen {
  readonly ended: string | undefined
  /** Series that were closed, bars that were refused, and what was logged as an error. */
  readonly faults: readonly string[]
  /** Monitored series whose newest bar is not there at the end. */
  readonly behind: readonly string[]
  readonly monitored: number
}

/** The engine with the real feed over made-up venues, asked by callers from its first second on. */
async function play(scene: Scene): Promise<Seen> {
  const { exchanges, coins, timeframes, ends, historyBars } = scene
  await using bench = await startLiveBench({ exchanges, coins, historyBars })
  const { clock, feed } = bench
  const settings = {
    MARKET: 'live',
    EXCHANGES: exchanges,
    COINS: coins,
    TIMEFRAMES: timeframes,
    ROLES: ['engine'],
  } as never
  const ending = new AbortController()
  const faults: string[] = []
  const engine: EngineRole = createEngineRole({
    version: 'test',
    settings,
    platform: {
      store: openMemoryStore({ now: clock.now }),
      idOf: createFactIds(new Uint8Array(32)),
      newId: () => crypto.randomUUID(),
    } as never,
    feed,
    watchList: await openWatchList(feed, settings, clock.sleep),
    projector: undefined,
    speech: FREE_SPEECH,
    log: {
      info: () => undefined,
      warn: () => undefined,
      error: (what: { err?: Error }, text: string) => void faults.push(`${text}: ${what.err?.message ?? ''}`),
    } as never,
    publicUrl: () => '',
    signal: ending.signal,
    terminal: { verdicts: () => undefined },
    counters: {
      verdictsRecorded: () => undefined,
      outcomesLabelled: () => undefined,
      appendTrouble: (code) => void faults.push(code),
      seriesClosed: (exchange, code) => void faults.push(`${exchange} closed: ${code}`),
    },
    time: clock,
  })
  scene.problem(bench)
  let ended: string | undefined
  const running = engine.start()
  running.then(
    () => (ended ??= 'ended'),
    (error: unknown) => (ended ??= String(error)),
  )
  const polling = poll(engine, scene, bench, ending.signal)
  await clock.runUntil(clock.sleep(ends - clock.now(), ending.signal))
  const monitored = exchanges.flatMap((exchange) =>
    coins.flatMap((coin) => timeframes.map((timeframe): Series => ({ exchange, coin, timeframe }))),
  )
  const behind = monitored.filter((series) => {
    const due = Math.floor((ends - MINUTE_MS) / timeframeMs(series.timeframe)) * timeframeMs(series.timeframe)
    return !((engine.newestBar(series) ?? 0) >= due)
  })
  const seen = {
    ended,
    faults,
    behind: behind.map(({ exchange, coin, timeframe }) => `${exchange}.${coin}.${timeframe}`),
    monitored: monitored.length,
  }
  ending.abort()
  await clock.runUntil(Promise.allSettled([running, polling, engine.ended()]))
  return seen
}

async function poll(engine: EngineRole, { ask }: Scene, { clock }: LiveBench, signal: AbortSignal) {
  const answers: Promise<unknown>[] = []
  while (!signal.aborted) {
    const { exchange, coin, timeframe } = ask()
    // Refusals are answers, too.
    answers.push(
      engine.toolHandler.answer('get_trade_call', { exchange, coin, timeframe }).catch(() => undefined),
    )
    await clock.sleep(23_000, signal)
  }
  await Promise.all(answers)
}

const FAULTS: readonly Fault[] = [
  { kind: 'status', status: 503 },
  { kind: 'status', status: 429, retryAfter: '20' },
  { kind: 'status', status: 403, text: '<html>no</html>' },
  { kind: 'reset' },
  { kind: 'instead', text: '{"code":"0","data":[' },
]

/** The faults of one venue in the first hour, drawn from a seed. */
function problem(venue: FakeVenue, { clock }: LiveBench, random: () => number): string {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  const later = (minutes: number, act: () => void): void =>
    void clock.sleep(minutes * MINUTE_MS, new AbortController().signal).then(act)
  const from = random() < 0.6 ? 0 : Math.floor(random() * 12)
  const minutes = 1 + Math.floor(random() * 12)
  const fault = pick(FAULTS)
  const fail = (routes: readonly Route[], share: number, from_: number): void =>
    later(from_, () => {
      for (const route of routes) venue.fail(route, fault, Number.POSITIVE_INFINITY, () => random() < share)
    })
  const kind = pick(['candles', 'some candles', 'tickers', 'away', 'suspended', 'markets'] as const)
  if (kind === 'candles') fail(['candles'], 1, from)
  if (kind === 'some candles') fail(['candles'], 0.4, from)
  if (kind === 'tickers') fail(['tickers'], 1, from)
  if (kind === 'markets') fail(['markets'], 1, from)
  if (kind === 'away') fail(['markets', 'candles', 'funding', 'tickers'], 1, from)
  if (kind === 'suspended') later(Math.max(2, from), () => venue.market.delist('ETH'))
  later(from + minutes, () => {
    venue.heal()
    venue.market.list('ETH')
  })
  return `${kind} of ${fault.kind} from minute ${from} for ${minutes}`
}

test.each(Array.from({ length: SEEDS }, (_, index) => index + 1))(
  'a first hour with trouble comes up whole and stays in order: seed %d',
  async (seed) => {
    const draw = createRandom(seed)
    const random = (): number => draw.uniform()
    const exchange = VENUES[seed % VENUES.length] as LiveExchange
    let what = ''
    const seen = await play({
      exchanges: [exchange],
      coins: COINS,
      timeframes: ['1m', '5m', '1h'],
      historyBars: 30,
      ends: NOON + 44 * MINUTE_MS + 30_000,
      problem: (bench) => void (what = problem(bench.venue(exchange), bench, random)),
      ask: () => ({
        exchange,
        coin: random() < 0.5 ? 'BTC' : 'ETH',
        timeframe: random() < 0.5 ? '5m' : '1h',
      }),
    })
    expect(seen, `${exchange}: ${what}`).toEqual({ ended: undefined, faults: [], behind: [], monitored: 6 })
  },
)

test('a venue that joins hours later, beside one that is well', async () => {
  const seen = await play({
    exchanges: ['BINANCE', 'OKX'],
    coins: COINS,
    timeframes: ['5m', '4h'],
    historyBars: 30,
    ends: NOON + 4 * HOUR_MS + 12 * MINUTE_MS,
    problem(bench) {
      const venue = bench.venue('OKX')
      for (const route of ['markets', 'candles', 'funding', 'tickers'] as const)
        venue.fail(route, { kind: 'reset' })
      void bench.clock.sleep(3 * HOUR_MS, new AbortController().signal).then(() => venue.heal())
    },
    ask: () => ({ exchange: 'OKX', coin: 'BTC', timeframe: '5m' }),
  })
  expect(seen).toEqual({ ended: undefined, faults: [], behind: [], monitored: 8 })
})
