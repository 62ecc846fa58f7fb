import { seriesName } from '../../contracts/domain/series.ts'
import type { Verdict } from '../../contracts/domain/verdict.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { Projection } from '../projection.ts'

/** The newest verdict of a series, and how many were recorded. Key: the series' name. */
export interface LatestVerdict extends JsonObject {
  readonly verdict: Verdict
  readonly position: string
  readonly recorded: number
  readonly buys: number
  readonly sells: number
}

/** The board: what every series says now. @example rows.get('SIM.BTC.1h')?.verdict.call */
export const latestVerdicts: Projection<LatestVerdict> = {
  name: 'latest_verdicts',
  version: 1,
  events: ['VerdictRecorded'],
  fold(rows, event) {
    if (event.type !== 'VerdictRecorded') return
    const key = seriesName(event.data)
    const before = rows.get(key)
    rows.put(key, {
      verdict: event.data,
      position: event.position,
      recorded: (before?.recorded ?? 0) + 1,
      buys: (before?.buys ?? 0) + (event.data.call === 'BUY' ? 1 : 0),
      sells: (before?.sells ?? 0) + (event.data.call === 'SELL' ? 1 : 0),
    })
  },
}
