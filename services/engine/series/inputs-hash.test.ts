import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { chainBar, chainStart } from './inputs-hash.ts'

const bar = { openTime: 1_700_000_000_000, open: 1.5, high: 2, low: 1, close: 1.75, volume: 10 }
const start = chainStart('SIM.BTC.1h', 'first-1')

test('is SHA-256 over the previous hash and six little-endian doubles', () => {
  const doubles = new Float64Array([1_700_000_000_000, 1.5, 2, 1, 1.75, 10])
  const expected = createHash('sha256').update(Buffer.from(start, 'hex')).update(Buffer.from(doubles.buffer))
  expect(start).toBe(createHash('sha256').update('SIM.BTC.1h\nfirst-1').digest('hex'))
  expect(chainBar(start, bar)).toBe(expected.digest('hex'))
})

test('depends on the start, on every number of the bar, and on their order', () => {
  const hashes = [
    chainBar(start, bar),
    chainBar(chainStart('SIM.BTC.4h', 'first-1'), bar),
    chainBar(chainStart('SIM.BTC.1h', 'first-2'), bar),
    chainBar(start, { ...bar, openTime: bar.openTime + 1 }),
    chainBar(start, { ...bar, open: 1.5000000000000002 }),
    chainBar(start, { ...bar, high: 2.1 }),
    chainBar(start, { ...bar, low: 1.1 }),
    chainBar(start, { ...bar, close: 1.8 }),
    chainBar(start, { ...bar, volume: 11 }),
    chainBar(start, { ...bar, open: bar.close, close: bar.open }),
    chainBar(chainBar(start, bar), bar),
  ]
  expect(new Set(hashes).size).toBe(hashes.length)
})
