import type { Verdict } from './verdict.ts'

/** A sound verdict for tests; give what matters to the test. */
export function aVerdict(change: Partial<Verdict> = {}): Verdict {
  const barClose = change.barClose ?? Date.UTC(2025, 0, 1)
  return {
    verdictId: '0190a000-0000-8000-8000-000000000001',
    exchange: 'SIM',
    coin: 'BTC',
    timeframe: '1h',
    barClose,
    validUntil: barClose + 8 * 3_600_000,
    call: 'HOLD',
    confidence: 51,
    strength: 20,
    probability: 0.512,
    regime: 'RANGING',
    regimeSince: barClose,
    regimeStrength: 10,
    volatilityPercentile: 0.4,
    price: 64_000,
    barrier: 0.012,
    forecast: {
      model: 'range-1',
      volatility: 0.011,
      p10: -0.013,
      p25: -0.0062,
      p50: 0.0001,
      p75: 0.0063,
      p90: 0.0129,
    },
    factors: [{ name: 'reversal', value: -1.2, contribution: 0.05, status: 'measured' }],
    reasoning: 'Nothing stands out.',
    modelVersion: 'first-1',
    anchorBar: 0,
    inputsHash: 'ab'.repeat(32),
    previous: null,
    recordedLate: false,
    ...change,
  }
}
