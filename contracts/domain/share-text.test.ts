import { expect, test } from 'vitest'
import { countText, grouped, shareText } from './statistics.ts'

test.each([
  [7 / 13, 13, '7 of 13'],
  [6.5 / 13, 13, '6.5 of 13'],
  [98 / 99, 99, '98 of 99'],
  [0.5, 100, '50.0 %'],
  [0.5384, 12_000, '53.8 %'],
  [null, 0, '—'],
])('%s of %i is written as %s', (share, trials, text) => {
  expect(shareText(share, trials)).toBe(text)
})

test.each([
  [0, '0 verdicts'],
  [1, '1 verdict'],
  [12_345, '12,345 verdicts'],
])('%i of verdicts is written as %s', (count, text) => {
  expect(countText(count, 'verdict')).toBe(text)
})

test.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1,000'],
  [-1_000, '-1,000'],
  [-999, '-999'],
  [20_130, '20,130'],
  [1_234_567, '1,234,567'],
])('%i is grouped as %s', (count, text) => {
  expect(grouped(count)).toBe(text)
  expect(count.toLocaleString('en')).toBe(text)
})
