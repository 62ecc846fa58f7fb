import { setImmediate } from 'node:timers/promises'
import {
  type Coin,
  rankUniverse,
  type Universe,
  type UniverseEntry,
} from '../../../contracts/domain/series.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { ROW_NUMBERS } from '../bar-maker.ts'
import { createSimulatedBars } from './simulated-bars.ts'

/** Coins between two turns of the event loop, which has others to serve meanwhile. */
const COINS_PER_TURN = 16

/**
 * The simulated coins by what their 1m bars of the last 24 hours traded: a pure function of seed and instant.
 *
 * @param now market time, Unix milliseconds
 */
export async function rankSimulatedUniverse(
  seed: string,
  coins: readonly Coin[],
  now: number,
): Promise<Universe> {
  const entries: UniverseEntry[] = []
  for (const coin of coins) {
    entries.push(entryOf(seed, coin, now))
    if (entries.length % COINS_PER_TURN === 0) await setImmediate()
  }
  return rankUniverse('SIM', Math.floor(now), entries)
}

function entryOf(seed: string, coin: Coin, now: number): UniverseEntry {
  const bars = createSimulatedBars(seed, coin)
  const end = Math.floor(now / MINUTE_MS) * MINUTE_MS
  const begin = Math.max(0, end - DAY_MS)
  let quoteVolume24h = 0
  let first = Number.NaN
  let last = Number.NaN
  for (let hour = Math.floor(begin / HOUR_MS); hour * HOUR_MS < end; hour++) {
    const rows = bars.minutes(hour)
    for (let at = 0; at < rows.length; at += ROW_NUMBERS) {
      const openTime = rows[at] as number
      if (openTime < begin || openTime >= end) continue
      if (Number.isNaN(first)) first = rows[at + 1] as number
      last = rows[at + 4] as number
      quoteVolume24h += last * (rows[at + 5] as number)
    }
  }
  const change24h = end - begin < DAY_MS ? null : last / first - 1
  return { coin, quoteVolume24h, change24h }
}
