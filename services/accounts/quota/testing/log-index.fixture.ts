import { decodeEvent } from '../../../../contracts/events/event-catalogue.ts'
import { START } from '../../../../contracts/infra/position.ts'
import {
  type DebitPlace,
  debitKey,
  debits,
  rowsInMemory,
  type UsageDay,
} from '../../../../projections/index.ts'
import type { MemoryLog } from '../../../../testing/memory-store/memory-store.ts'
import type { DebitIndex } from '../used-keys.ts'

/**
 * The read model of idempotency keys over a log in memory, folded when it is asked.
 *
 * @param limit how many events of the log it has folded at most; all without it
 */
export function logIndex(log: MemoryLog, limit: () => number = () => Infinity): DebitIndex {
  const rows = rowsInMemory<DebitPlace | UsageDay>()
  let folded = 0
  function catchUp(): void {
    for (; folded < Math.min(log.rows.length, limit()); folded++) {
      const row = log.rows[folded]
      if (row === undefined) return
      const [data, meta] = [JSON.parse(row.data), JSON.parse(row.meta)]
      debits.fold(rows, decodeEvent({ ...row, data, meta }))
    }
  }
  return {
    find(payerId, hash) {
      catchUp()
      return rows.get(debitKey(payerId, hash)) as DebitPlace | undefined
    },
    position() {
      catchUp()
      return folded === 0 ? START : (log.rows[folded - 1]?.position ?? START)
    },
  }
}
