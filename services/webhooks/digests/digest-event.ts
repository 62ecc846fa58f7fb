import type { NewEvent } from '../../../contracts/event.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { ScanCompleted } from '../../../contracts/scan-events.ts'
import type { ScanTradeCallsResponse } from '../../../contracts/tools/scan-trade-calls.ts'
import type { FactId } from '../../platform/ids/fact-id.ts'
import { type DueDigest, scanName } from './due-digests.ts'

/**
 * The event of a digest. Its id follows from what it is about, so that two who record the same one make the same id.
 *
 * @param scan answer of `scan_trade_calls` for the exchange and timeframe
 */
export function digestEvent(
  scan: ScanTradeCallsResponse,
  { cadence, boundary }: DueDigest,
  idOf: Pick<FactId, 'at'>,
): NewEvent {
  const { exchange, timeframe, scanned, holds } = scan
  const scanId = idOf.at(boundary, 'scan', scanName(scan), cadence, String(boundary))
  return newEvent(ScanCompleted, {
    id: scanId,
    data: {
      scanId,
      exchange,
      timeframe,
      cadence,
      boundary,
      scanned,
      holds,
      completedAt: Date.parse(scan.completed_at),
      calls: scan.calls.map(
        ({ bar_close: barClose, valid_until: validUntil, verdict_id: verdictId, ...row }) => ({
          rank: row.rank,
          coin: row.coin,
          call: row.call,
          confidence: row.confidence,
          strength: row.strength,
          regime: row.regime,
          price: row.price,
          barClose: Date.parse(barClose),
          validUntil: Date.parse(validUntil),
          verdictId,
        }),
      ),
    },
    meta: { correlationId: `digest ${scanName(scan)} ${boundary}`, actor: 'digests' },
  })
}
