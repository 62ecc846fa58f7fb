import { describe, expect, test } from 'vitest'
import { equityChart, reliabilityChart, scale, sparkline, ticks } from './charts.ts'

test('the line of a row has the colour of its direction, and no broken number', () => {
  expect(String(sparkline([3, 1, 2]))).toMatch(/class="line down" points="1,/)
  expect(String(sparkline([1, 2]))).toContain('class="line c2"')
  for (const prices of [[], [1], [1, 1]]) expect(String(sparkline(prices))).not.toMatch(/NaN|Infinity/)
})

describe('scales', () => {
  test('map a range to a stretch, and an empty range to its middle', () => {
    expect(scale([0, 10], [100, 0])(2.5)).toBe(75)
    expect(scale([3, 3], [0, 10])(3)).toBe(5)
  })
  test('have round marks within the range', () => {
    expect(ticks([0, 1], 4)).toEqual([0, 0.25, 0.5, 0.75, 1])
    expect(ticks([76_310, 77_120], 5)).toEqual([76_400, 76_600, 76_800, 77_000])
    expect(ticks([-0.07, 0.03], 5)).toEqual([-0.06, -0.04, -0.02, 0, 0.02])
    expect(ticks([5, 5], 5)).toEqual([5])
  })
})

test('the reliability diagram puts what came true as said on its line, with the interval of Wilson', () => {
  const few = { races: 80, non_overlapping: 7, wins: 2, said: 0.55 }
  const text = String(
    reliabilityChart([
      { ...few, happened: 0.286, low: 0.08, high: 0.64 },
      {
        races: 900,
        non_overlapping: 100,
        wins: 450,
        said: 0.5,
        happened: 0.5,
        low: 0.404,
        high: 0.596,
      },
    ]),
  )
  const [, y] = /<circle class="dot" cx="[\d.]+" cy="([\d.]+)"/.exec(text) ?? []
  const [, x0 = 0, y0 = 0, x1 = 0, y1 = 0] = (
    /class="ideal" d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)"/.exec(text) ?? []
  ).map(Number)
  const [, cx] = /cx="([\d.]+)"/.exec(text) ?? []
  const onLine = y0 + ((Number(cx) - x0) / (x1 - x0)) * (y1 - y0)
  expect(Number(y)).toBeCloseTo(onLine, 0)
  expect(text).toContain('said 50.0 %, happened 50.0 %; 100 of 900 do not overlap')
  expect(text.match(/<circle/g)).toHaveLength(1)
  expect(text).toContain('>52.5 %<')
})

test('equity adds up months for each of three lines', () => {
  const month = (name: string, net: number, calls = 3) => ({
    month: name,
    calls,
    net_bps: net,
    always_buy_bps: -net,
    random_bps: 10,
  })
  const text = String(equityChart([month('2025-12', 0, 0), month('2026-01', 100), month('2026-02', -250)]))
  expect(text).toContain('over 2 months')
  expect(text).toContain('calls -1.5 %, always BUY 1.5 %, a coin 0.2 %')
  expect(text.match(/<polyline/g)).toHaveLength(3)
})
