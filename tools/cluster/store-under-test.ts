import { setTimeout as pause } from 'node:timers/promises'
import { startWireDouble } from '../../testing/eventstoredb-double/wire-double.ts'
import { faultsOf, hold, type NodeFaults, readNodes, stalls } from './store-nodes.ts'

/** The event store of a cluster, and what can be done to it. */
export interface StoreUnderTest {
  readonly url: string
  /** Every node stands still for a while. */
  silent(ms: number): Promise<void>
  /** The node that takes appends is gone at once, and comes back or is replaced. */
  loseLeader(ms: number): Promise<void>
  readonly faults: NodeFaults
  stop(): void
}

/** A node that stands still for less is not replaced. */
const REPLACED_AFTER_MS = 12_000

/** A server in this process that speaks the store's protocol. */
export async function startDouble(): Promise<StoreUnderTest> {
  const double = await startWireDouble()
  const silent = async (ms: number): Promise<void> => {
    double.faults.freeze()
    await pause(ms)
    double.faults.thaw()
  }
  return {
    url: double.connectionString,
    silent,
    async loseLeader(ms) {
      double.stop()
      await pause(ms)
      await double.restart()
    },
    faults: {
      // A cluster whose leader stands still and is not replaced: the longest that callers can meet.
      freezeLeader: silent,
      stallFollowers: (ms, times) =>
        stalls(times, async () => {
          double.faults.loseFollowers()
          await pause(ms)
          double.faults.followersReturn()
        }),
    },
    stop: () => double.stop(),
  }
}

/**
 * Nodes that run already.
 *
 * @param nodes `port:pidfile` of each on this machine, separated by commas; empty where nothing may be done to them
 */
export function realStore(url: string, nodes: string): StoreUnderTest {
  const known = readNodes(nodes)
  const faults = known.length > 1 ? faultsOf(known) : undefined
  return {
    url,
    silent: (ms) => hold(known, ms),
    // Its owner starts a node again: here it only stands still for long enough to be replaced.
    loseLeader: async (ms) => faults?.freezeLeader(Math.max(ms, REPLACED_AFTER_MS)),
    faults: faults ?? {},
    stop: () => undefined,
  }
}
