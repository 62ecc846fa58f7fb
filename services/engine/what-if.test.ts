import { expect, test } from 'vitest'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import { type VerdictRow, verdictRow } from '../../contracts/verdict-row.ts'
import { type EngineReading, SeriesEngine } from './engine.ts'
import { loadModel, type TimeframeSkill, type VerdictModel } from './model.ts'
import { silencedBecause, withdrawalReason } from './speech/silenced.ts'
import { createWhatIf } from './what-if.ts'

const SERIES = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' } as const
const RELEASED = loadModel()
/** It weighs otherwise, and loudly enough to speak often; features in another order are other features. */
const OTHER: VerdictModel = {
  ...RELEASED,
  version: 'other-1',
  clip: 2.5,
  weights: RELEASED.weights.map((weight, index) => weight * ((index % 3) - 0.6) * 4),
  ranges: RELEASED.ranges.map((range) => ({ ...range, hours: undefined })),
}
/** A coin with a slope of its own, an offset, and hours that are wider than others. */
const TUNED: VerdictModel = {
  ...OTHER,
  version: 'other-2',
  timeframes: {
    ...OTHER.timeframes,
    '1h': { ...OTHER.timeframes['1h'], offset: -0.04, coinSlopes: { BTC: 1.37 } } as TimeframeSkill,
  },
  ranges: RELEASED.ranges.map((range) => ({ ...range, hours: Array.from({ length: 48 }, () => 1.5) })),
}
const READY = 500

/** A walk with a stretch in which nothing moves; the same for the same seed. */
function bars(seed: number, count: number) {
  let state = seed
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  let close = 100
  return Array.from({ length: count }, (_, n) => {
    const open = close
    const isStill = n >= 700 && n < 770
    if (!isStill) close *= Math.exp(0.02 * (random() - 0.5) + 0.004 * Math.sin(n / 15))
    const reach = isStill ? 1 : 1 + 0.004 * random()
    return {
      openTime: n * HOUR_MS,
      open,
      high: Math.max(open, close) * reach,
      low: Math.min(open, close) / reach,
      close,
      volume: 5 + 10 * random(),
    }
  })
}

const asRow = (reading: EngineReading): VerdictRow => {
  if (reading.status !== 'verdict') throw new Error('too few bars')
  const { verdict } = reading
  const whole = { ...verdict, verdictId: 'x', previous: null, recordedLate: false }
  // As it comes over the wire.
  return JSON.parse(JSON.stringify(verdictRow(whole, '1', ''))) as VerdictRow
}

/** The verdicts of two engines at the same bars. */
function run(seed: number, other: VerdictModel) {
  const engines = [RELEASED, other].map((model) => new SeriesEngine({ model }))
  const slots = engines.map((engine) => engine.open(SERIES))
  return bars(seed, 1_200).flatMap((bar, n) => {
    for (const [index, engine] of engines.entries()) {
      if (n % 8 === 0 && n < 1_000)
        engine.pushFunding(SERIES, { time: bar.openTime, rate: 0.0001 * Math.cos(n), intervalHours: 8 })
      engine.push(slots[index] ?? 0, bar)
    }
    if (n + 1 < READY) return []
    const [recorded, own] = engines.map((engine, index) => asRow(engine.read(slots[index] ?? 0)))
    return recorded === undefined || own === undefined ? [] : [{ recorded, own }]
  })
}

test.each([
  [1, OTHER],
  [2, OTHER],
  [3, TUNED],
])('seed %i: it says what an engine with that model says over the same bars', (seed, other) => {
  const said = run(seed, other)
  const whatIf = createWhatIf(other)
  const found = said.map(({ recorded }) => whatIf(recorded))
  const known = found.findIndex((one) => one.kind === 'said' && one.call !== null)
  expect(found.map((one, index) => (index < known ? { ...one, call: null } : one))).toEqual(
    said.map(({ own: { probability, call } }, index) => ({
      kind: 'said',
      probability,
      call: index < known ? null : call,
    })),
  )
  expect(new Set(said.map(({ own }) => own.call)).size).toBe(3)
  expect(said.some(({ own }) => own.probability === 0.5)).toBe(true)
})

test('from any bar on, and behind bars that are missing, a call is right or not told yet', () => {
  const said = run(6, OTHER)
  for (const skipped of [3, 150, 411]) {
    const whatIf = createWhatIf(OTHER)
    const kept = said.filter((_, index) => index > skipped && index % 100 !== 7)
    let untold = 0
    for (const { recorded, own } of kept) {
      const found = whatIf(recorded)
      if (found.kind !== 'said') throw new Error('nothing is lacking')
      expect(found.probability).toBe(own.probability)
      if (found.call === null) untold += 1
      else expect(found.call).toBe(own.call)
    }
    expect(untold).toBeGreaterThan(0)
    expect(untold).toBeLessThan(kept.length / 4)
  }
})

test('a feature that nobody recorded is named, unless the model gives it no weight', () => {
  const [first] = run(7, OTHER)
  if (first === undefined) throw new Error('no verdict')
  const { recorded } = first
  const row = { ...recorded, factors: recorded.factors.filter(({ name }) => name !== 'momentum_12') }
  expect(createWhatIf(OTHER)(row)).toEqual({ kind: 'lacking', features: ['momentum_12'] })
  const at = OTHER.names.indexOf('momentum_12')
  const weights = OTHER.weights.map((weight, index) => (index % OTHER.names.length === at ? 0 : weight))
  expect(createWhatIf({ ...OTHER, weights })(row).kind).toBe('said')
})

test('calls that were withdrawn stay so for the model that they were withdrawn from, and for no other', () => {
  const change = {
    modelVersion: RELEASED.version,
    timeframe: SERIES.timeframe,
    from: 0,
    auc: 0.49,
    races: 5_000,
    day: '2025-01-01',
  }
  const said = run(8, OTHER).map(({ recorded, own }) => ({
    recorded: silencedBecause(recorded, withdrawalReason(change as never)),
    own,
  }))
  const [same, other] = [createWhatIf(RELEASED), createWhatIf(OTHER)]
  const calls = said.map(({ recorded }) => [same(recorded), other(recorded)])
  expect(new Set(calls.map(([one]) => one?.kind === 'said' && one.call))).toEqual(new Set(['HOLD']))
  expect(new Set(calls.map(([, one]) => one?.kind === 'said' && one.call)).size).toBeGreaterThan(2)
})

test('offset, slope of the coin and hours of a model are in its verdicts, and the factors add up to the probability', () => {
  const [plain, tuned] = [run(4, OTHER), run(4, TUNED)].map((said) => said.map(({ own }) => own))
  for (const [index, own] of (tuned ?? []).entries()) {
    const before = plain?.[index] ?? expect.fail('There is none.')
    if (own.expected_range === null || before.expected_range === null) continue
    const logOdds = own.factors.reduce((sum, { contribution }) => sum + contribution, 0)
    expect(1 / (1 + Math.exp(-logOdds))).toBe(own.probability)
    expect(own.factors[0]).toMatchObject({ name: 'bias', contribution: -0.04 })
    for (const [at, { contribution }] of own.factors.slice(1).entries())
      expect(contribution).toBeCloseTo(1.37 * (before.factors[at + 1]?.contribution ?? 0), 12)
    expect(Math.log1p(own.expected_range.p90)).toBeCloseTo(1.5 * Math.log1p(before.expected_range.p90), 6)
  }
  const other = new SeriesEngine({ model: TUNED })
  const slot = other.open({ ...SERIES, coin: 'ETH' })
  for (const bar of bars(4, READY)) other.push(slot, bar)
  const [first] = plain ?? []
  expect(asRow(other.read(slot)).factors[2]?.contribution).toBe(first?.factors[2]?.contribution)
})
