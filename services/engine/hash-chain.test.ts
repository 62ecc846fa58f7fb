import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { chainBar, chainStart } from './hash-chain.ts'

const bar = { openTime: 1_700_000_000_000, open: 1.5, high: 2, low: 1, close: 1.75, volume: 10 }
const funding = { time: 1_699_999_200_000, rate: 0.0001, intervalHours: 8 }
const start = chainStart('SIM.BTC.1h', 'first-1')

test('is SHA-256 over the previous hash and nine little-endian doubles', () => {
  const doubles = new Float64Array([1_700_000_000_000, 1.5, 2, 1, 1.75, 10, 1_699_999_200_000, 0.0001, 8])
  const expected = createHash('sha256').update(Buffer.from(start, 'hex')).update(Buffer.from(doubles.buffer))
  expect(start).toBe(createHash('sha256').update('SIM.BTC.1h\nfirst-1').digest('hex'))
  expect(chainBar(start, bar, funding)).toBe(expected.digest('hex'))
})

test('depends on the start, on every number of the bar and of its funding, and on their order', () => {
  const hashes = [
    chainBar(start, bar, funding),
    chainBar(chainStart('SIM.BTC.4h', 'first-1'), bar, funding),
    chainBar(chainStart('SIM.BTC.1h', 'first-2'), bar, funding),
    chainBar(start, { ...bar, openTime: bar.openTime + 1 }, funding),
    chainBar(start, { ...bar, open: 1.5000000000000002 }, funding),
    chainBar(start, { ...bar, high: 2.1 }, funding),
    chainBar(start, { ...bar, low: 1.1 }, funding),
    chainBar(start, { ...bar, close: 1.8 }, funding),
    chainBar(start, { ...bar, volume: 11 }, funding),
    chainBar(start, { ...bar, open: bar.close, close: bar.open }, funding),
    chainBar(start, bar, { ...funding, time: funding.time + 1 }),
    chainBar(start, bar, { ...funding, rate: 0.0002 }),
    chainBar(start, bar, { ...funding, intervalHours: 4 }),
    chainBar(start, bar, undefined),
    chainBar(chainBar(start, bar, funding), bar, funding),
  ]
  expect(new Set(hashes).size).toBe(hashes.length)
})
