import { readFileSync } from 'node:fs'
import { startWireDouble } from '../../testing/eventstoredb-double/wire-double.ts'

/** The event store of a cluster, and what can be done to it. */
export interface StoreUnderTest {
  readonly url: string
  /** Every node stands still for a while. */
  silent(ms: number): Promise<void>
  /** The node that takes appends is gone at once, and comes back or is replaced. */
  loseLeader(ms: number): Promise<void>
  /** The node that takes appends stands still for a while; undefined where there is but one. */
  readonly freezeLeader: ((ms: number) => Promise<void>) | undefined
  /** Hides new events from readers for a while, again and again; undefined where the server cannot. */
  readonly stallFollowers: ((ms: number, times: number) => Promise<void>) | undefined
  stop(): void
}

const BETWEEN_STALLS_MS = 3_000

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

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
    // A cluster whose leader stands still and is not replaced: the longest that callers can meet.
    freezeLeader: silent,
    async stallFollowers(ms, times) {
      for (let n = 0; n < times; n++) {
        double.faults.loseFollowers()
        await pause(ms)
        double.faults.followersReturn()
        await pause(BETWEEN_STALLS_MS)
      }
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
  const known = nodes
    .split(',')
    .filter((part) => part !== '')
    .map((part) => ({ port: part.split(':')[0] ?? '', pidFile: part.slice(part.indexOf(':') + 1) }))
  const signal = (targets: typeof known, name: NodeJS.Signals): void => {
    for (const { pidFile } of targets) process.kill(Number(readFileSync(pidFile, 'utf8')), name)
  }
  async function isLeader(port: string): Promise<boolean> {
    const info = await fetch(`http://127.0.0.1:${port}/info`, { signal: AbortSignal.timeout(1_000) }).then(
      (answer) => answer.json() as Promise<{ readonly state?: string }>,
      () => undefined,
    )
    return info?.state === 'leader'
  }
  async function byRole(): Promise<{ leader: typeof known; followers: typeof known }> {
    const leads = await Promise.all(known.map(({ port }) => isLeader(port)))
    return {
      leader: known.filter((_, index) => leads[index]),
      followers: known.filter((_, index) => !leads[index]),
    }
  }
  async function hold(targets: typeof known, ms: number): Promise<void> {
    signal(targets, 'SIGSTOP')
    await pause(ms)
    signal(targets, 'SIGCONT')
  }
  const isCluster = known.length > 1
  const freezeLeader = async (ms: number): Promise<void> => hold((await byRole()).leader, ms)
  return {
    url,
    silent: (ms) => hold(known, ms),
    // Whoever started the nodes starts them again: here they only stand still for long enough to be replaced.
    loseLeader: (ms) => freezeLeader(Math.max(ms, 12_000)),
    freezeLeader: isCluster ? freezeLeader : undefined,
    stallFollowers: isCluster
      ? async (ms, times) => {
          for (let n = 0; n < times; n++) {
            await hold((await byRole()).followers, ms)
            await pause(BETWEEN_STALLS_MS)
          }
        }
      : undefined,
    stop: () => undefined,
  }
}
