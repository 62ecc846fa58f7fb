import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../testing/servers/server-port.ts'
import { callerOf } from './caller-of.ts'
import { type Line, startLine } from './line.ts'
import { mountDisk, type OwnDisk } from './own-disk.ts'
import { faultsOf, hold, leaderOf, type NodeFaults, type StoreNode, stateOf } from './store-nodes.ts'
import type { StoreUnderTest } from './store-under-test.ts'

const NODES = 3
/** Events of an hour, and a chunk of the log for each time that a node starts. */
const DISK_MB = 1_024
const UP_WITHIN_MS = 180_000
const AGAIN_AFTER_MS = 1_000

interface OwnNode extends StoreNode {
  /** The others reach it by these ways. */
  readonly lines: readonly Line[]
  /** Its address for the others. */
  readonly address: string
  readonly disk: OwnDisk | undefined
  start(others: readonly string[]): void
  /** Ends it at once, and starts it again no sooner than the time is over. */
  kill(awayMs: number): Promise<void>
  /** Ends it for good. */
  end(): void
}

interface NodePlace {
  readonly name: string
  readonly command: string
  readonly port: number
  readonly root: string
  readonly say: (line: string) => void
}

async function createNode({ name, command, port, root, say }: NodePlace): Promise<OwnNode> {
  const replication = await freePort()
  const [gossip, line] = (await Promise.all(
    [port, replication].map((to) => startLine(`tcp://127.0.0.1:${to}`)),
  )) as [Line, Line]
  const folder = join(root, name)
  const disk = mountDisk(folder, DISK_MB)
  const values = {
    port: `${port}`,
    gossip: new URL(gossip.url).port,
    replication: `${replication}`,
    advertised: new URL(line.url).port,
    folder,
  }
  let reached: readonly string[] = []
  let child: ChildProcess | undefined
  let isOver = false
  let isHeld = false

  function start(others: readonly string[]): void {
    reached = others
    const output = openSync(join(root, `${name}.log`), 'a')
    const [binary = '', ...words] = filled(command, { ...values, others: others.join(',') })
    const started = spawn(binary, words, { stdio: ['ignore', output, output] })
    closeSync(output)
    child = started
    started.once('error', (error) => say(`    ${name} does not start: ${error.message}`))
    started.once('exit', (code, signal) => {
      child = undefined
      if (!isOver) void again(`${code ?? signal}`)
    })
  }
  async function again(ended: string): Promise<void> {
    say(`    ${name} ended with ${ended}`)
    await pause(AGAIN_AFTER_MS)
    // oxlint-disable-next-line no-unmodified-loop-condition -- `kill` changes it
    while (isHeld) await pause(AGAIN_AFTER_MS)
    if (!isOver) start(reached)
  }
  return {
    port,
    pid: () => child?.pid,
    lines: [gossip, line],
    address: new URL(gossip.url).host,
    disk,
    start,
    async kill(awayMs) {
      isHeld = true
      child?.kill('SIGKILL')
      await pause(awayMs)
      isHeld = false
    },
    end() {
      isOver = true
      child?.kill('SIGKILL')
      disk?.close()
      void Promise.all([gossip.close(), line.close()])
    },
  }
}

const filled = (command: string, values: Readonly<Record<string, string>>): string[] =>
  command
    .split(/[\s\\]+/)
    .map((word) => word.replaceAll(/\{(\w+)\}/g, (whole, value: string) => values[value] ?? whole))

/** Nothing passes between one node and the others, in either direction; callers reach all of them. */
function part(node: OwnNode, nodes: readonly OwnNode[]): void {
  const pids = nodes.flatMap((one) => one.pid() ?? [])
  for (const line of node.lines) line.cut()
  for (const line of nodes.filter((one) => one !== node).flatMap(({ lines }) => lines)) {
    const far = Number(new URL(line.url).port)
    line.cut((near) => callerOf({ near, far }, pids) === node.pid())
  }
}

/**
 * Starts three nodes of a store by a command, and starts each again that ends: nodes of EventStoreDB end themselves after
 * a long pause, or where their disk is full.
 *
 * @param command of one node, its words parted by spaces, also over several lines. {port} is for callers; the other nodes
 *   reach it at {gossip}, and where it listens at {replication} at {advertised}; {others} are their addresses, and {folder}
 *   is where it keeps its events
 */
export async function startNodes(
  command: string,
  say: (line: string) => void,
  upWithinMs = UP_WITHIN_MS,
): Promise<StoreUnderTest> {
  const root = mkdtempSync(join(tmpdir(), 'store-nodes-'))
  const ports = await Promise.all(Array.from({ length: NODES }, freePort))
  const addresses = ports.map((port) => `127.0.0.1:${port}`)
  const nodes = await Promise.all(
    ports.map((port, index) => createNode({ name: `node${index + 1}`, command, port, root, say })),
  )
  async function allUp(): Promise<void> {
    const until = performance.now() + upWithinMs
    for (;;) {
      const states = await Promise.all(nodes.map(stateOf))
      const followers = states.filter((state) => state === 'follower').length
      if (states.includes('leader') && followers === NODES - 1) return
      if (performance.now() > until)
        throw new Error(`nodes of the store are ${states.join(', ')}: see ${root}`)
      await pause(500)
    }
  }
  const endAll = (): void => nodes.forEach((node) => node.end())
  process.once('exit', endAll)
  for (const node of nodes) node.start(nodes.filter((other) => other !== node).map(({ address }) => address))
  await allUp()
  say(`three nodes of the store are up in ${root}`)
  /** Does something to the leader, and waits until all nodes are up again. */
  const toLeader =
    (does: (leader: OwnNode, ms: number) => Promise<void>) =>
    async (ms: number): Promise<void> => {
      const leader = await leaderOf(nodes)
      if (leader !== undefined) await does(leader, ms)
      await allUp()
    }
  const faults: NodeFaults = {
    ...faultsOf(nodes),
    partLeader: toLeader(async (leader, ms) => {
      part(leader, nodes)
      await pause(ms)
      for (const line of nodes.flatMap(({ lines }) => lines)) line.heal()
    }),
    ...(nodes.every(({ disk }) => disk !== undefined) && {
      fillLeader: toLeader(async ({ disk }, ms) => {
        disk?.fill()
        await pause(ms)
        disk?.free()
      }),
    }),
  }
  return {
    url: `esdb://${addresses.join(',')}?tls=false`,
    silent: (ms) => hold(nodes, ms),
    loseLeader: toLeader((leader, ms) => leader.kill(ms)),
    faults,
    stop() {
      process.off('exit', endAll)
      endAll()
      rmSync(root, { recursive: true, force: true })
    },
  }
}
