import { parseArgs } from 'node:util'
import {
  clockSet,
  diskFull,
  down,
  emptied,
  type Fault,
  frozen,
  type Ground,
  killed,
  parted,
  silentStore,
} from './faults.ts'
import type { Random } from './random.ts'
import { STORE_HELP } from './store-help.ts'
import type { NodeFaults } from './store-nodes.ts'

/** A fault, and what it befalls: two at a time never befall the same. */
interface Drawn {
  readonly name: string
  readonly on: string
  readonly happen: (ground: Ground) => Promise<void>
}

/** How often another fault happens meanwhile. */
const SHARE_OF_PAIRS = 0.25

/** How far clocks are set: also by more than any lease lasts, and by less than what callers sign is valid for. */
const CLOCKS_AHEAD_MS = [-60_000, -20_000, -3_000, 3_000, 20_000, 60_000] as const
const NO_DISKS: Fault = { name: 'a full disk (needs the right to mount one)', happen: undefined }

function drawOne(options: DrawOptions): Drawn {
  const { random, members, hasDisks, storeFaults, lines } = options
  const aheadMs = random.pick(CLOCKS_AHEAD_MS)
  const member = random.pick(members)
  const ms = Math.round(random.between(500, 12_000))
  const line = random.pick(lines)
  const seconds = `${(ms / 1_000).toFixed(1)} s`
  const drawn: Drawn[] = [
    { name: `${member} is killed, and away for ${seconds}`, on: member, happen: killed(member, ms) },
    { name: `${member} stands still for ${seconds}`, on: member, happen: frozen(member, ms) },
    {
      name: `${member} is cut off from ${line} for ${seconds}`,
      on: `${member} ${line}`,
      happen: parted(member, line, ms),
    },
    { name: `NATS is down for ${seconds}`, on: 'NATS', happen: down(({ nats }) => nats, ms) },
    { name: `Redis is down for ${seconds}`, on: 'Redis', happen: down(({ redis }) => redis, ms) },
    {
      name: `the leader of the store is lost for ${seconds}`,
      on: 'store',
      happen: ({ store }) => store.loseLeader(ms),
    },
    {
      name: `the store is silent for ${seconds}, and a process stops`,
      // It stops the first that answers callers, and no other fault may start that meanwhile.
      on: 'all',
      happen: silentStore(ms),
    },
    {
      name: `the clock of ${member} is set by ${aheadMs / 1_000} s for ${seconds}`,
      on: member,
      happen: clockSet(member, aheadMs, ms),
    },
    { name: 'Redis is emptied', on: 'Redis', happen: emptied },
    ...ofNodes(storeFaults, ms, seconds),
    // Last, so that a seed draws the same where there are none.
    { name: `the disk of ${member} is full for ${seconds}`, on: member, happen: diskFull(member, ms) },
  ]
  const one = random.pick(drawn)
  return one.name.startsWith('the disk of') && !hasDisks ? drawOne(options) : one
}

const NODE_FAULTS = {
  freezeLeader: 'the leader of the store stands still',
  partLeader: 'the leader of the store is cut off from the others',
  fillLeader: 'the leader of the store has no room on its disk',
  stallFollowers: 'the followers of the store stand still, three times',
} as const

const ofNodes = (faults: NodeFaults, ms: number, seconds: string): Drawn[] =>
  (Object.keys(NODE_FAULTS) as (keyof NodeFaults)[]).flatMap((kind) => {
    const fault = faults[kind]
    if (fault === undefined) return []
    return { name: `${NODE_FAULTS[kind]} for ${seconds}`, on: 'store', happen: () => fault(ms, 3) }
  })

const isApart = (one: Drawn, other: Drawn): boolean =>
  one.on !== other.on && ![one.on, other.on].includes('all')

interface DrawOptions {
  readonly random: Random
  /** Names of the processes. */
  readonly members: readonly string[]
  /** Whether processes have disks that can be filled. */
  readonly hasDisks: boolean
  /** Servers that a process can be cut off from. */
  readonly lines: readonly string[]
  readonly storeFaults: NodeFaults
}

/** Faults of a seed, one after the other, sometimes two at a time; the same seed, names and store, the same faults. */
export function* drawFaults(options: DrawOptions & { readonly isOpen: () => boolean }): Generator<Fault> {
  const { random, isOpen, hasDisks } = options
  if (!hasDisks) yield NO_DISKS
  while (isOpen()) {
    const one = drawOne(options)
    const other = random.chance(SHARE_OF_PAIRS) ? drawOne(options) : undefined
    if (other === undefined || !isApart(one, other)) yield one
    else
      yield {
        name: `${one.name}; and ${other.name}`,
        happen: async (ground) => void (await Promise.all([one.happen(ground), other.happen(ground)])),
      }
  }
}

export const HELP = `Injects faults drawn from a seed into a cluster of processes under load, and audits its log.

  npm run chaos -- --minutes N [--seed S] [--processes 4|8] [--releases 1|2] [--store-node COMMAND]

  --minutes N      for how long faults begin, 1 to 1440; the start and the audit come on top
  --seed S         draws the faults, 0 to ${2 ** 32 - 1}; 1 without it
  --processes P    4 or 8; 8 without it, of which two settle payments
  --releases 2     every other process is one of the next release
${STORE_HELP}

NATS and Redis have to be installed, and full disks need the right to mount one. A seed
always draws the same faults; when they strike depends on this machine. Ends with 0 where log and callers agree, with 1 where not, with 2 for arguments that are none.`

export interface Asked {
  readonly minutes: number
  readonly seed: number
  readonly processes: number
  readonly releases: number
  /** Command of a node of the store. */
  readonly storeNode?: string
}

/** @throws Error in words for arguments that are none @example readChaos(['--minutes', '5']) */
export function readChaos(given: readonly string[]): Asked {
  const text = { type: 'string' } as const
  const options = { minutes: text, seed: text, processes: text, releases: text, 'store-node': text } as const
  const { values } = parseArgs({ args: [...given], options })
  const { minutes, seed = '1', processes = '8', releases = '1', 'store-node': storeNode } = values
  if (minutes === undefined) throw new Error('--minutes is missing')
  if (processes !== '4' && processes !== '8') throw new Error(`--processes must be 4 or 8, not ${processes}`)
  return {
    minutes: whole('--minutes', minutes, 1, 1_440),
    seed: whole('--seed', seed, 0, 2 ** 32 - 1),
    processes: Number(processes),
    releases: whole('--releases', releases, 1, 2),
    ...(storeNode !== undefined && { storeNode }),
  }
}

function whole(name: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (/^\d{1,10}$/.test(text) && value >= least && value <= most) return value
  throw new Error(`${name} must be a whole number from ${least} to ${most}, not ${text}`)
}
