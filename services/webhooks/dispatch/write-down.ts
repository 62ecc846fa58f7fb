import { mapInTurns } from '../../platform/async/map-in-turns.ts'
import type { DeliveryJournal } from '../deliveries/delivery-journal.ts'
import { isIdle, type Lane } from './lane.ts'

/** How far an endpoint without signals has come is written down this often, for so many of them at a time. */
const AFTER_MS = 900_000
const AT_A_TIME = 256
const WRITES_AT_ONCE = 32

/** How far endpoints have come that have nothing to be sent, so that it need not be looked through again. */
export async function writeDownQuiet(
  lanes: Iterable<Lane>,
  options: { readonly now: () => number; readonly journalOf: (lane: Lane) => Promise<DeliveryJournal> },
): Promise<void> {
  const { now, journalOf } = options
  const quiet: Lane[] = []
  for (const lane of lanes) {
    const isDue = lane.mode === 'live' && now() - lane.settledAt >= AFTER_MS && isIdle(lane)
    if (isDue && quiet.length < AT_A_TIME) quiet.push(lane)
  }
  await mapInTurns(quiet, WRITES_AT_ONCE, async (lane) => {
    lane.settledAt = now()
    const before = lane.pass?.cursor(lane.subscription.subscriptionId)
    if (before === undefined || lane.isClosed) return
    const journal = await journalOf(lane)
    const cursor = lane.pass?.cursor(lane.subscription.subscriptionId)
    if (cursor !== undefined && isIdle(lane)) await journal.advance(cursor)
  })
}
