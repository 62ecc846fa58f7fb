import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import { scanStream } from '../../../contracts/events/streams.ts'
import type { ScanTradeCallsResponse } from '../../../contracts/tools/tool-schemas.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { createFakeClock, type FakeClock } from '../../../testing/time/fake-clock.fixture.ts'
import { collect } from '../../log/event-store.contract.ts'
import type { EventStore } from '../../log/event-store.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import { createDigestRecorder, type DigestRecorderOptions, type WantedDigest } from './digest-recorder.ts'

const DAY = Date.UTC(2025, 0, 2)
const HOUR_MS = 3_600_000
const HOURLY: WantedDigest = { exchange: 'HL', timeframe: '1h', cadence: '1h' }
const VERDICT = '0194252b-9200-8b7e-a2d3-5b7e9014c6f8'

let store: EventStore
let time: FakeClock
let problems: string[]
let scans: string[]
let ending: AbortController
let running: Promise<void>[]

beforeEach(() => {
  store = openMemoryStore({ now: () => DAY })
  time = createFakeClock(DAY)
  problems = []
  scans = []
  ending = new AbortController()
  running = []
})
afterEach(async () => {
  ending.abort()
  await Promise.all(running)
})

const answerOf = (
  exchange: WantedDigest['exchange'],
  timeframe: WantedDigest['timeframe'],
  price = 1,
): ScanTradeCallsResponse => ({
  exchange,
  timeframe,
  completed_at: isoTime(time.now()),
  universe_ranked_at: isoTime(time.now()),
  calls: [
    {
      rank: 1,
      coin: 'BTC',
      call: 'SELL',
      confidence: 55,
      strength: 93,
      regime: 'RANGING',
      price,
      change_24h: null,
      quote_volume_24h: 12,
      lens_value: null,
      bar_close: isoTime(DAY),
      valid_until: isoTime(DAY + 8 * HOUR_MS),
      expected_range: null,
      expected_volatility: null,
      verdict_id: VERDICT,
      verify_url: `http://127.0.0.1:8402/verify/${VERDICT}`,
    },
  ],
  scanned: 3,
  holds: 2,
  errors: [{ coin: 'OLD', code: 'stale_market_data', message: '…' }],
  lens_note: null,
  note: null,
})

function start(options: Partial<DigestRecorderOptions> = {}): ReturnType<typeof createDigestRecorder> {
  const recorder = createDigestRecorder({
    wanted: () => [HOURLY],
    scan: async ({ exchange, timeframe, top_n: topN, limit }) => {
      scans.push(`${exchange}.${timeframe} ${topN} ${limit}`)
      return answerOf(exchange, timeframe)
    },
    store,
    idOf: createFactIds(Buffer.from('secret')),
    clock: time.now,
    sleep: time.sleep,
    onProblem: ({ exchange, timeframe }, { code }) => problems.push(`${exchange}.${timeframe} ${code}`),
    ...options,
  })
  running.push(recorder.run(ending.signal))
  return recorder
}

/** Cadence, and the hour of the day its period began. */
const recorded = async (timeframe: WantedDigest['timeframe'] = '1h'): Promise<string[]> =>
  (await collect(store.read(scanStream('HL', timeframe)))).map((event) => {
    const { data } = decodeEvent(event)
    const { cadence, boundary } = data as unknown as { cadence: string; boundary: number }
    return `${cadence} ${(boundary - DAY) / HOUR_MS}`
  })

describe('digests', () => {
  test('are recorded once at every boundary of market time, after the verdicts had time', async () => {
    start()
    await time.advance(19_000)
    expect(await recorded()).toEqual(['1h -1'])
    await time.advance(2_000)
    expect(await recorded()).toEqual(['1h -1', '1h 0'])
    await time.advance(3 * HOUR_MS)
    expect(await recorded()).toEqual(['1h -1', '1h 0', '1h 1', '1h 2', '1h 3'])
    expect(scans).toEqual(Array(5).fill('HL.1h 100 100'))
  })

  test('hold what a reader needs, and nothing that follows from it', async () => {
    start()
    await time.advance(21_000)
    const [, event] = await collect(store.read(scanStream('HL', '1h')))
    expect(event).toMatchObject({ type: 'ScanCompleted', id: event?.data.scanId, meta: { actor: 'digests' } })
    expect(event?.data).toEqual({
      scanId: event?.id,
      exchange: 'HL',
      timeframe: '1h',
      cadence: '1h',
      boundary: DAY,
      completedAt: DAY + 20_000,
      scanned: 3,
      holds: 2,
      calls: [
        {
          rank: 1,
          coin: 'BTC',
          call: 'SELL',
          confidence: 55,
          strength: 93,
          regime: 'RANGING',
          price: 1,
          barClose: DAY,
          validUntil: DAY + 8 * HOUR_MS,
          verdictId: VERDICT,
        },
      ],
    })
  })

  test('of several cadences share a scan and an append', async () => {
    await time.advance(30_000)
    start({ wanted: () => (['1d', '1h', '4h'] as const).map((cadence) => ({ ...HOURLY, cadence })) })
    await time.advance(1_000)
    expect(await recorded()).toEqual(['1h 0', '4h 0', '1d 0'])
    expect(scans).toHaveLength(1)
    await time.advance(4 * HOUR_MS)
    expect(await recorded()).toEqual(['1h 0', '4h 0', '1d 0', '1h 1', '1h 2', '1h 3', '1h 4', '4h 4'])
  })

  test('begin when somebody wants them and end when nobody does', async () => {
    let wanted: WantedDigest[] = []
    start({ wanted: () => wanted })
    await time.advance(HOUR_MS)
    expect(await recorded('4h')).toEqual([])
    wanted = [{ exchange: 'HL', timeframe: '4h', cadence: '4h' }]
    await time.advance(1_000)
    expect(await recorded('4h')).toEqual(['4h 0'])
    wanted = []
    await time.advance(5 * HOUR_MS)
    expect(await recorded('4h')).toEqual(['4h 0'])
  })

  test('that were missed while nobody recorded are left out, but for that of the running period', async () => {
    start({ wanted: () => [HOURLY, { ...HOURLY, cadence: '4h' }] })
    await time.advance(21_000)
    ending.abort()
    await Promise.all(running)
    ending = new AbortController()
    await time.advance(5.5 * HOUR_MS)
    start({ wanted: () => [HOURLY, { ...HOURLY, cadence: '4h' }] })
    await time.advance(1_000)
    expect(await recorded()).toEqual(['1h -1', '4h -4', '1h 0', '4h 0', '1h 5', '4h 4'])
  })

  test('are not recorded again after a restart, nor when the clock of the market was set back', async () => {
    await time.advance(5 * HOUR_MS + 30_000)
    let behindMs = 0
    for (let restarts = 0; restarts < 2; restarts++) {
      start({ clock: () => time.now() - behindMs })
      await time.advance(1_000)
    }
    behindMs = 2 * HOUR_MS
    await time.advance(60_000)
    expect(await recorded()).toEqual(['1h 5'])
    expect(scans).toHaveLength(1)
  })

  test('of two recorders at once are recorded once', async () => {
    await time.advance(30_000)
    const bothScan = Promise.withResolvers<void>()
    let scanning = 0
    const recorders = [1, 2].map((price) =>
      start({
        scan: async ({ exchange, timeframe }) => {
          if (++scanning === 2) bothScan.resolve()
          await bothScan.promise
          return answerOf(exchange, timeframe, price)
        },
      }),
    )
    await time.advance(5_000)
    expect(await recorded()).toEqual(['1h 0'])
    await time.advance(HOUR_MS)
    expect(await recorded()).toEqual(['1h 0', '1h 1'])
    expect(problems).toEqual([])
    expect(recorders.flatMap((recorder) => recorder.problems())).toEqual([])
  })
})

describe('what fails', () => {
  test('is told once, tried again, and recorded late', async () => {
    let isUp = false
    const recorder = start({
      scan: async ({ exchange, timeframe }) => {
        if (!isUp) throw new ServiceError('venue_unavailable', { message: 'HL is away' })
        return answerOf(exchange, timeframe)
      },
    })
    await time.advance(5 * 60_000)
    expect(problems).toEqual(['HL.1h venue_unavailable'])
    expect(recorder.problems()).toEqual(['HL.1h: HL is away'])
    isUp = true
    await time.advance(61_000)
    expect(await recorded()).toEqual(['1h 0'])
    expect(recorder.problems()).toEqual([])
  })

  test('is tried until its period ends, a minute apart at most, and said to be in trouble for so long', async () => {
    let isUp = true
    let tries = 0
    const recorder = start({
      wanted: () => [{ ...HOURLY, cadence: '4h' }],
      scan: async ({ exchange, timeframe }) => {
        tries += 1
        if (!isUp) throw new ServiceError('engine_unavailable', { message: 'away' })
        return answerOf(exchange, timeframe)
      },
    })
    await time.advance(10_000)
    expect(await recorded()).toEqual(['4h -4'])
    isUp = false
    tries = 0
    await time.advance(3 * HOUR_MS + 50 * 60_000)
    expect(tries).toBeLessThanOrEqual(240)
    expect(recorder.problems()).toEqual(['HL.1h: away'])
    expect(problems).toEqual(['HL.1h engine_unavailable'])
    isUp = true
    await time.advance(62_000)
    expect(await recorded()).toEqual(['4h -4', '4h 0'])
    expect(recorder.problems()).toEqual([])
  })

  test('does not make the next period wait for the pauses of the one before', async () => {
    let tries: number[] = []
    start({
      scan: () => {
        tries.push(time.now())
        return Promise.reject(new ServiceError('engine_unavailable'))
      },
    })
    await time.advance(HOUR_MS + 19_000)
    tries = []
    await time.advance(4_000)
    expect(tries.length).toBe(1)
    expect(problems).toEqual(['HL.1h engine_unavailable'])
  })

  test('of one exchange does not hold up another', async () => {
    start({
      wanted: () => [{ ...HOURLY, exchange: 'OKX' }, HOURLY],
      scan: ({ exchange, timeframe }) =>
        exchange === 'OKX'
          ? Promise.reject(new ServiceError('venue_unavailable'))
          : Promise.resolve(answerOf(exchange, timeframe)),
    })
    await time.advance(HOUR_MS + 21_000)
    expect(await recorded()).toEqual(['1h -1', '1h 0', '1h 1'])
  })

  test.each([
    ['that had happened', true, 2, []],
    ['that had not', false, 2, []],
    ['that had happened, for long', true, 40, ['HL.1h outcome_unknown']],
    ['that had not, for long', false, 40, ['HL.1h outcome_unknown']],
  ])(
    'as an append whose outcome is not known, %s, is recorded once',
    async (_which, hasHappened, count, told) => {
      let failures = count
      const failing: EventStore = {
        ...store,
        async append(...args) {
          if (failures === 0) return store.append(...args)
          failures -= 1
          if (hasHappened) await store.append(...args)
          throw new ServiceError('append_unknown')
        },
      }
      await time.advance(30_000)
      start({ store: failing })
      await time.advance(60_000)
      expect(await recorded()).toEqual(['1h 0'])
      expect(problems).toEqual(told)
    },
  )

  test('as a fault of the program is not hidden', async () => {
    const recorder = createDigestRecorder({
      wanted: () => [HOURLY],
      scan: () => Promise.reject(new TypeError('no such method')),
      store,
      idOf: createFactIds(Buffer.from('secret')),
      clock: time.now,
      sleep: time.sleep,
      onProblem: () => expect.fail('told as a problem that passes'),
    })
    await expect(recorder.run(ending.signal)).rejects.toThrow('no such method')
  })
})
