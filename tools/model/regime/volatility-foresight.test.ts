import { expect, test } from 'vitest'
import { volatilityForesight } from './volatility-foresight.ts'

/** A hundred calm bars, a hundred wild ones, and so on: the price swings by a little or by a lot. */
const isWild = (index: number): boolean => index % 200 >= 100
const closes = Array.from({ length: 2_000 }, (_, index) =>
  index % 2 === 0 ? 100 : isWild(index) ? 110 : 101,
)
const AFTER = 10
const options = { after: AFTER, recent: 400, from: 400 }
const knowing = closes.map((_, index) => (isWild(index + AFTER / 2) ? 1 : 0))

test('a measure that knows what comes reads near 1, its opposite near 0', () => {
  const { overall, recent } = volatilityForesight(closes, knowing, options)
  expect(overall.auc).toBeGreaterThan(0.95)
  expect(recent.auc).toBeGreaterThan(0.9)
  const opposite = knowing.map((measure) => -measure)
  expect(volatilityForesight(closes, opposite, options).overall.auc).toBeLessThan(0.05)
})

test('a measure that knows nothing reads one half', () => {
  const { overall, recent } = volatilityForesight(
    closes,
    closes.map(() => 0.3),
    options,
  )
  expect([overall.auc, recent.auc]).toEqual([0.5, 0.5])
})

test('what has already happened does not count', () => {
  const jump = [...Array.from({ length: 60 }, () => 100), ...Array.from({ length: 60 }, () => 200)]
  // The jump follows bars 50 to 59; after bar 60 nothing comes any more.
  const before = jump.map((_, index) => (index >= 50 && index <= 59 ? 1 : 0))
  const { overall, recent } = volatilityForesight(jump, before, { after: AFTER, recent: 20, from: 20 })
  expect([overall.auc, recent.auc]).toEqual([1, 1])
})

test('usual means usual lately, where the market calmed down for good', () => {
  const swing = (index: number): number => (index < 1_000 ? 20 : isWild(index) ? 2 : 1)
  const calmed = Array.from({ length: 2_000 }, (_, index) => (index % 2 === 0 ? 100 : 100 + swing(index)))
  const { overall, recent } = volatilityForesight(calmed, knowing, { after: AFTER, recent: 400, from: 400 })
  expect(recent.auc).toBeGreaterThan(overall.auc + 0.1)
})

test('is unknown without bars to ask at', () => {
  const { overall, recent } = volatilityForesight(closes, knowing, { ...options, from: closes.length })
  expect(overall.auc).toBeNaN()
  expect(recent.auc).toBeNaN()
})
