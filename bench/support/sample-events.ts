import { VerdictRecorded } from '../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../contracts/events/event-definition.ts'
import type { NewEvent } from '../../contracts/infra/event.ts'
import { uuidV7 } from '../../services/runtime/ids/uuid.ts'

const NAMES = ['reversal', 'momentum', 'band', 'trend', 'volatility', 'funding']

/** A verdict event as the engine records them, about 1.3 KB of JSON. */
export function sampleVerdict(
  index: number,
  random: (bytes: number) => Uint8Array,
  timeMs: number,
): NewEvent {
  const id = uuidV7(timeMs, random(10))
  const barClose = 1_699_999_980_000 + index * 60_000
  return newEvent(VerdictRecorded, {
    id,
    meta: { correlationId: id, actor: 'engine' },
    data: {
      verdictId: id,
      exchange: 'BINANCE',
      coin: 'BTC',
      timeframe: '1m',
      barClose,
      validUntil: barClose + 15 * 60_000,
      call: 'BUY',
      confidence: 54,
      strength: 71,
      probability: 0.5412345 + (index % 100) / 10_000,
      regime: 'RANGING',
      regimeSince: barClose - 600_000,
      regimeStrength: 21,
      volatilityPercentile: 0.4312,
      price: 64_321.5 + (index % 1_000) / 10,
      barrier: 0.0123,
      forecast: {
        model: 'range-1',
        volatility: 0.0123,
        p10: -0.0147,
        p25: -0.0071,
        p50: 0,
        p75: 0.0071,
        p90: 0.0149,
      },
      factors: NAMES.map((name, n) => ({
        name,
        value: 0.123456 * n + index / 1e6,
        contribution: 0.0123 * n,
        status: 'measured' as const,
      })),
      reasoning: 'Leans up: short-term reversal and momentum outweigh the trend in a ranging market.',
      modelVersion: 'first-1',
      anchorBar: 1_698_999_960_000,
      inputsHash: 'ab'.repeat(32),
      previous: { barClose: barClose - 60_000, regime: 'RANGING' },
      recordedLate: false,
    },
  })
}
