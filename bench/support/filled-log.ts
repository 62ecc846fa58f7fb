import { randomBytes } from 'node:crypto'
import { OutcomeLabelled } from '../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../contracts/events/event-definition.ts'
import type { NewEvent } from '../../contracts/infra/event.ts'
import type { EventStore } from '../../services/log/event-store.ts'
import { timedUuidV8 } from '../../services/runtime/ids/uuid.ts'
import { appendNext } from '../../testing/append-next.ts'
import { sampleVerdict } from './sample-events.ts'

/** Bars until a verdict is decided. */
const WINDOW = 15

/**
 * Bar after bar, each with a verdict and an outcome of every series.
 *
 * @param barsAtOnce events of a series that are neighbours: more are appended faster
 */
export async function fillLog(
  store: EventStore,
  { events, series, barsAtOnce = 1 }: { events: number; series: number; barsAtOnce?: number },
): Promise<void> {
  const template = sampleVerdict(0, randomBytes, Date.now())
  const first = Date.UTC(2025, 0, 1)
  const bars = events / (2 * series)
  for (let from = 0; from < bars; from += barsAtOnce) {
    const closes = Array.from(
      { length: Math.min(barsAtOnce, bars - from) },
      (_, bar) => first + (from + bar) * 60_000,
    )
    const appends = Array.from({ length: series }, (_, index) => {
      const coin = `C${index}`
      const verdicts = closes.map((barClose) => {
        const id = timedUuidV8(barClose, randomBytes(10).toString('hex'))
        const probability = 0.5 + Math.random() / 10
        const data = { ...template.data, verdictId: id, coin, barClose, validUntil: barClose, probability }
        return { ...template, id, data }
      })
      const outcomes = closes.map((barClose) => outcomeOf(coin, barClose - WINDOW * 60_000))
      return [
        appendNext(store, `verdict-BINANCE.${coin}.1m`, verdicts),
        appendNext(store, `outcome-BINANCE.${coin}.1m`, outcomes),
      ]
    })
    await Promise.all(appends.flat())
  }
}

function outcomeOf(coin: string, barClose: number): NewEvent {
  const id = timedUuidV8(barClose, randomBytes(10).toString('hex'))
  const validUntil = barClose + WINDOW * 60_000
  return newEvent(OutcomeLabelled, {
    id,
    meta: { correlationId: `bar BINANCE.${coin}.1m ${barClose}`, causationId: id, actor: 'engine' },
    data: {
      exchange: 'BINANCE',
      coin,
      timeframe: '1m',
      verdictId: id,
      barClose,
      validUntil,
      modelVersion: 'first-1',
      call: 'BUY',
      probability: 0.54,
      barrier: 0.01,
      race: 'up',
      entryPrice: 64_321.5,
      exitPrice: 64_964.7,
      decidedAt: validUntil,
      highest: 0.01,
      lowest: -0.004,
      forecast: null,
      closePrice: 64_900.5,
      recordedLate: false,
      barsMissed: 0,
    },
  })
}
