import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** A node of a store on this machine. */
export interface StoreNode {
  readonly port: number
  readonly pid: () => number | undefined
}

/** Faults of single nodes; absent where this store cannot have them. */
export interface NodeFaults {
  /** The node that takes appends stands still for a while. */
  readonly freezeLeader?: (ms: number) => Promise<void>
  /** Hides new events from readers for a while, again and again. */
  readonly stallFollowers?: (ms: number, times: number) => Promise<void>
  /** Nothing passes between the node that takes appends and the others; callers reach all of them. */
  readonly partLeader?: (ms: number) => Promise<void>
  /** Not a byte more is written by the node that takes appends. */
  readonly fillLeader?: (ms: number) => Promise<void>
}

const BETWEEN_STALLS_MS = 3_000
const ANSWER_MS = 1_000

/** `leader`, `follower`, …; undefined where the node does not answer. */
export const stateOf = ({ port }: StoreNode): Promise<string | undefined> =>
  fetch(`http://127.0.0.1:${port}/info`, { signal: AbortSignal.timeout(ANSWER_MS) })
    .then((answer) => answer.json() as Promise<{ readonly state?: string }>)
    .then(
      ({ state }) => state?.toLowerCase(),
      () => undefined,
    )

export async function leaderOf<Node extends StoreNode>(nodes: readonly Node[]): Promise<Node | undefined> {
  const states = await Promise.all(nodes.map(stateOf))
  return nodes.find((_, index) => states[index] === 'leader')
}

/** @param nodes `port:pidfile` of each, separated by commas */
export const readNodes = (nodes: string): readonly StoreNode[] =>
  nodes
    .split(',')
    .filter((part) => part !== '')
    .map((part) => ({
      port: Number(part.split(':')[0]),
      pid: () => Number(readFileSync(part.slice(part.indexOf(':') + 1), 'utf8')),
    }))

/** Stops nodes for a while; one that ends meanwhile is not missed. */
export async function hold(nodes: readonly StoreNode[], ms: number): Promise<void> {
  const pids = nodes.flatMap((node) => node.pid() ?? []).filter(isThere)
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  await pause(ms)
  for (const pid of pids) if (isThere(pid)) process.kill(pid, 'SIGCONT')
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Does something again and again, with a while between. */
export async function stalls(times: number, stall: () => Promise<void>): Promise<void> {
  for (let n = 0; n < times; n++) {
    await stall()
    await pause(BETWEEN_STALLS_MS)
  }
}

export const faultsOf = (nodes: readonly StoreNode[]) => ({
  async freezeLeader(ms: number): Promise<void> {
    const leader = await leaderOf(nodes)
    if (leader !== undefined) await hold([leader], ms)
  },
  stallFollowers: (ms: number, times: number): Promise<void> =>
    stalls(times, async () => {
      const leader = await leaderOf(nodes)
      await hold(
        nodes.filter((node) => node !== leader),
        ms,
      )
    }),
})
