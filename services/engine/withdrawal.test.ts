import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Candle } from '../../contracts/domain/candle.ts'
import { DAY_MS, HOUR_MS } from '../../contracts/domain/timeframes.ts'
import type { ServiceEvent } from '../../contracts/events/event-catalogue.ts'
import { given, outcomeLabelled } from '../../projections/given-events.fixture.ts'
import { rowsInMemory, type SpeechRow, speech, speechKey, withdrawalAt } from '../../projections/index.ts'
import { SeriesEngine } from './engine.ts'
import { loadModel } from './model/verdict-model.ts'
import { createRace } from './race.ts'
import { readCandles } from './testing/read-candles.ts'
import { withdrawalReason } from './withdrawal-reason.ts'

const FOLDER = '../shared/data/binance-usdm'
const isDataAbsent = !existsSync(FOLDER)
const whenPresent = isDataAbsent ? ` (skipped: no recorded data at ${FOLDER})` : ''
const MODEL = loadModel()

interface Told {
  readonly validUntil: number
  readonly probability: number
  readonly race: 'up' | 'down'
}

/** The row that outcomes lead to. */
function judged(told: readonly Told[]): SpeechRow {
  const rows = rowsInMemory()
  const [template] = given(outcomeLabelled({ timeframe: '1h', modelVersion: MODEL.version }))
  if (template?.type !== 'OutcomeLabelled' || speech.needs === 'recorded') throw new TypeError('no outcome')
  for (const one of told) {
    const event: ServiceEvent = { ...template, data: { ...template.data, ...one } }
    speech.fold(rows as never, event)
  }
  return rows.get(speechKey(MODEL.version, '1h')) as unknown as SpeechRow
}

describe('a series whose skill is destroyed halfway', () => {
  const FROM = Date.UTC(2025, 0, 1)

  /** Ten races a day: the forecast is right in six of them until the half, in four of them behind it. */
  const MADE_UP: Told[] = Array.from({ length: 8_000 }, (_, n) => {
    const isRight = n % 10 < (n < 4_000 ? 6 : 4)
    const saysUp = n % 3 === 0
    return {
      validUntil: FROM + Math.floor(n / 10) * DAY_MS + (n % 10) * HOUR_MS,
      probability: saysUp ? 0.55 : 0.45,
      race: isRight === saysUp ? 'up' : 'down',
    }
  })

  test('has its calls withdrawn once, from the second midnight on', () => {
    const row = judged(MADE_UP)
    // Two years count, and half of them are bad with the 743rd day; the fourteenth such day decides.
    expect(row.changes).toEqual([expect.objectContaining({ change: 'withdraw', rule: 3, days: 14 })])
    expect(((row.changes[0]?.day ?? 0) - FROM) / DAY_MS).toBe(757)
    const engine = new SeriesEngine({
      model: MODEL,
      withdrawn(_timeframe, barClose) {
        const change = withdrawalAt(row, barClose)
        return change && withdrawalReason(change)
      },
    })
    const free = new SeriesEngine({ model: MODEL })
    const series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' } as const
    const pairs = [engine, free].map((one) => ({ one, opened: one.open(series) }))
    const last = FROM + 759 * DAY_MS - HOUR_MS
    const said = Array.from({ length: 620 }, (_, n) => {
      const close = 100 + 10 * Math.sin(n / 9)
      const bar = {
        openTime: last - (619 - n) * HOUR_MS,
        open: close,
        high: close + 1,
        low: close - 1,
        close,
        volume: 5 + (n % 7),
      }
      return pairs.map(({ one, opened }) => {
        one.push(opened, bar)
        const reading = one.read(opened)
        return reading.status === 'verdict' ? reading.verdict : undefined
      })
    })
    const [silent, spoken] = said.at(-1) ?? []
    expect(spoken?.barClose).toBe(FROM + 759 * DAY_MS)
    expect(silent).toEqual({ ...spoken, call: 'HOLD', strength: 0, reasoning: expect.any(String) })
    expect(silent?.reasoning).toMatch(
      /^In four of five windows .* HOLD, because calls at 1h are withdrawn since 2027-01-30: over 730 days the forecasts ranked no better than chance \(AUC 0\.\d{3} of \d+ outcomes\)\. Distance to EMA50 /,
    )
    const [silentBefore, spokenBefore] = said.at(-2) ?? []
    expect(silentBefore).toEqual(spokenBefore)
  })

  test.skipIf(isDataAbsent)(`has its calls withdrawn on recorded bars${whenPresent}`, () => {
    const told = ['BTC', 'ETH', 'SOL']
      .flatMap((coin) => racesOf(coin))
      .toSorted((a, b) => a.validUntil - b.validUntil)
    const half = told[Math.floor(told.length / 2)]?.validUntil ?? 0
    const destroyed = told.map(
      (one): Told => (one.validUntil < half ? one : { ...one, race: one.race === 'up' ? 'down' : 'up' }),
    )
    expect(judged(told.filter(({ validUntil }) => validUntil < half)).changes).toEqual([])
    const { changes } = judged(destroyed)
    expect(changes.map(({ change }) => change)).toEqual(['withdraw'])
    const days = ((changes[0]?.day ?? 0) - Math.floor(half / DAY_MS) * DAY_MS) / DAY_MS
    expect(days).toBeGreaterThan(30)
    expect(days).toBeLessThan(730)
  })
})

/** The decided races of two years of a coin, with what the model said. */
function racesOf(coin: string): Told[] {
  const all = readCandles(`${FOLDER}/${coin}USDT-1h.csv.gz`)
  const from = all.findIndex(({ openTime }) => openTime >= Date.UTC(2023, 6, 1))
  const bars: Candle[] = all.slice(from, from + 2 * 365 * 24)
  const engine = new SeriesEngine({ model: MODEL })
  const slot = engine.open({ exchange: 'BINANCE', coin, timeframe: '1h' })
  const told: Told[] = []
  let races: { probability: number; validUntil: number; race: ReturnType<typeof createRace> }[] = []
  for (const bar of bars) {
    races = races.filter(({ race, ...about }) => {
      const ended = race.take(bar)
      if (ended?.race === 'up' || ended?.race === 'down') told.push({ ...about, race: ended.race })
      return ended === undefined
    })
    engine.push(slot, bar)
    const reading = engine.read(slot)
    if (reading.status !== 'verdict') continue
    const { probability, barClose, barrier, validUntil } = reading.verdict
    const race = createRace({ barClose, barMs: HOUR_MS, windowBars: 8, barrier })
    races.push({ probability, validUntil, race })
  }
  return told
}
