import type { Candle } from '../../contracts/candle.ts'
import { DAY_MS, type Timeframe, timeframeMs } from '../../contracts/timeframes.ts'

export const CANDIDATES = ['pos48', 'pos_day', 'wick8', 'mom96', 'r12'] as const

class Extreme {
  ring: Float64Array
  n = 0
  best = 0
  bestAt = -1
  sign: number
  constructor(size: number, sign: number) { this.ring = new Float64Array(size); this.sign = sign }
  push(v: number) {
    const size = this.ring.length
    const x = v * this.sign
    this.ring[this.n % size] = x
    if (x >= this.best || this.bestAt < 0) { this.best = x; this.bestAt = this.n }
    else if (this.bestAt <= this.n - size) {
      this.best = -Infinity
      for (let k = Math.max(0, this.n - size + 1); k <= this.n; k++) { const y = this.ring[k % size]!; if (y >= this.best) { this.best = y; this.bestAt = k } }
    }
    this.n++
  }
  get value() { return this.best * this.sign }
}

const DAY_BARS = (tf: Timeframe) => { const n = DAY_MS / timeframeMs(tf); return n >= 12 ? n : 20 }

export function createCandidates(timeframe: Timeframe) {
  const d = DAY_BARS(timeframe)
  const h48 = new Extreme(48, 1), l48 = new Extreme(48, -1), hd = new Extreme(d, 1), ld = new Extreme(d, -1)
  const logs = new Float64Array(128)
  let n = 0
  let wick = 0
  const values = new Float64Array(5)
  const pos = (c: number, h: number, l: number) => (h > l ? (2 * c - h - l) / (h - l) : 0)
  return {
    values,
    push(bar: Candle, atr50: number, dev: number) {
      const { open, high, low, close } = bar
      h48.push(high); l48.push(low); hd.push(high); ld.push(low)
      logs[n & 127] = Math.log(close)
      n++
      if (atr50 > 0) wick += ((Math.min(open, close) - low - (high - Math.max(open, close))) / atr50 - wick) / 8
      const mom = (k: number) => (n > k && dev > 0 ? (logs[(n - 1) & 127]! - logs[(n - 1 - k) & 127]!) / (dev * Math.sqrt(k)) : NaN)
      values[0] = pos(close, h48.value, l48.value)
      values[1] = pos(close, hd.value, ld.value)
      values[2] = wick
      values[3] = mom(96)
      values[4] = mom(12)
    },
  }
}
