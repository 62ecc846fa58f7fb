import { isSending } from '../../../projections/index.ts'
import type { DeliveryJournal } from '../deliveries/delivery-journal.ts'
import type { DeliveryLog } from '../deliveries/delivery-log.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import type { CatchUp } from './catch-up.ts'
import { HEALTHY } from './decide-attempt.ts'
import type { DueQueue } from './due-queue.ts'
import type { DueEntry, EndpointCare } from './endpoint-care.ts'
import type { EndpointLog } from './endpoint-log.ts'
import type { Lane } from './lane.ts'
import type { Obedience } from './obey-subscription.ts'

export interface BeginningsOptions {
  readonly endpoints: Pick<EndpointLog, 'newest'>
  readonly deliveries: Pick<DeliveryLog, 'load'>
  readonly care: Pick<EndpointCare, 'begin'>
  readonly catchUp: Pick<CatchUp, 'read'>
  readonly obedience: Obedience
  readonly due: DueQueue<DueEntry>
  readonly journalOf: (lane: Lane) => Promise<DeliveryJournal>
}

/** How this process begins with an endpoint. */
export interface Beginnings {
  /** One of the directory, with what its delivery log says. */
  readonly admit: (lane: Lane, state: Deliveries) => Promise<void>
  /**
   * One whose creation a pass has met. The pass may be far behind the log, in which it may have been removed, or sent
   * to by another process.
   */
  begin(lane: Lane): Promise<void>
}

export function createBeginnings(options: BeginningsOptions): Beginnings {
  const { endpoints, deliveries, care, catchUp, obedience, due, journalOf } = options

  async function admit(lane: Lane, state: Deliveries): Promise<void> {
    const { failuresInARow, lastSuccessAt, firstFailureAt, open, replays } = state
    lane.health = { ...HEALTHY, failuresInARow, firstFailureAt: firstFailureAt ?? undefined }
    lane.isProven = lastSuccessAt !== null && failuresInARow === 0
    await care.begin(lane)
    const { subscription } = lane
    const isAsked = subscription.replays.some(
      (asked) => (replays.get(asked.replayId) ?? 0) < asked.toSequence,
    )
    if (!isSending(subscription) || (open.size === 0 && !isAsked)) return
    const journal = await journalOf(lane)
    for (const { sequence, nextAt } of journal.state.open.values()) {
      due.add(nextAt, { kind: 'retry', lane, sequence })
    }
    if (isAsked) await obedience.replay(lane)
  }

  return {
    admit,
    async begin(lane) {
      obedience.obey(lane, await endpoints.newest(lane.subscription))
      if (lane.isClosed) return
      const state = await deliveries.load(lane.subscription)
      if (lane.isClosed) return
      if (state.revision !== 'no-stream') {
        lane.readFrom = state.cursor
        await admit(lane, state)
      }
      await catchUp.read(lane)
    },
  }
}
