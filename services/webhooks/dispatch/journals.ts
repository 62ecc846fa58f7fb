import { assert } from '../../../contracts/assert.ts'
import type { DeliveryCursor } from '../../../contracts/delivery-events.ts'
import { mapConcurrently } from '../../runtime/async/map-concurrently.ts'
import type { DeliveryJournal } from '../deliveries/delivery-journal.ts'
import type { Endpoint } from './endpoint.ts'

/** Interval at which the cursor of an idle endpoint is recorded, and the most endpoints each time. */
const AFTER_MS = 900_000
const AT_A_TIME = 256
const WRITES_AT_ONCE = 32

/** Records the cursors of idle endpoints in the tail, so that a restart reads no further back. */
export async function writeDownQuiet(
  endpoints: Iterable<Endpoint>,
  options: {
    readonly nowMs: number
    readonly cursorOf: (endpoint: Endpoint) => DeliveryCursor | undefined
    readonly journalOf: (endpoint: Endpoint) => Promise<DeliveryJournal>
    readonly onWritten: (endpoint: Endpoint) => void
  },
): Promise<void> {
  const { nowMs, cursorOf, journalOf, onWritten } = options
  const quiet: Endpoint[] = []
  for (const endpoint of endpoints) {
    const { source, writtenAtMs } = endpoint.state
    const isDue = source === 'tail' && nowMs - writtenAtMs >= AFTER_MS && endpoint.isIdle
    if (isDue && quiet.length < AT_A_TIME) quiet.push(endpoint)
  }
  await mapConcurrently(quiet, WRITES_AT_ONCE, async (endpoint) => {
    assert(endpoint.isIdle, 'a quiet endpoint has nothing under way')
    onWritten(endpoint)
    if (cursorOf(endpoint) === undefined) return
    const journal = await journalOf(endpoint)
    const cursor = cursorOf(endpoint)
    if (cursor !== undefined && endpoint.isIdle) await journal.advance(cursor)
  })
}
