import type { FundingUpdate } from '../../../../contracts/domain/feed.ts'
import type { Exchange } from '../../../../contracts/domain/series.ts'
import { HOUR_MS } from '../../../../contracts/domain/timeframes.ts'

/** A stretch of settlements that is made up. */
export interface PlantedFunding {
  readonly exchange: Exchange
  readonly coin?: string
  /** Settlements after `fromMs` and not after `toMs`, on multiples of the interval. */
  readonly fromMs: number
  readonly toMs: number
  readonly intervalHours: number
  /** The hourly rate that longs pay at an instant. */
  readonly hourly: (timeMs: number) => number
}

/**
 * Settlements of one market, oldest first; each pays what its interval has accrued at the rate of its time.
 *
 * @example plantFunding({ exchange: 'HL', fromMs: 0, toMs: DAY_MS, intervalHours: 1, hourly: () => 1e-5 })
 */
export function plantFunding(planted: PlantedFunding): FundingUpdate[] {
  const { exchange, coin = 'BTC', fromMs, toMs, intervalHours, hourly } = planted
  const step = intervalHours * HOUR_MS
  const updates: FundingUpdate[] = []
  for (let time = (Math.floor(fromMs / step) + 1) * step; time <= toMs; time += step) {
    updates.push({
      market: { exchange, coin },
      funding: { time, rate: intervalHours * hourly(time), intervalHours },
    })
  }
  return updates
}
