import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { TestServer } from '../../testing/servers/test-server.ts'
import type { Line } from './line.ts'
import type { Member } from './member.ts'
import type { Records } from './records.ts'
import type { StoreUnderTest } from './store-under-test.ts'

/** Parts that can be broken. */
export interface Ground {
  readonly members: readonly Member[]
  readonly store: StoreUnderTest
  readonly nats: TestServer
  readonly redis: TestServer
  readonly records: Records
  /** Ways to the servers that can be cut, by process and server; none where they were not asked for. */
  readonly lines: ReadonlyMap<string, Line>
}

/** Something that goes wrong, and is over when it resolves. Undefined where this ground cannot have it. */
export interface Fault {
  readonly name: string
  readonly happen: ((ground: Ground) => Promise<void>) | undefined
}

/** A stop may take so long, and what the operating system needs to start a process on a busy machine. */
const STOP_WITHIN_MS = 10_000

/** A process by its name, or by a role: the one that does least besides. */
const named = ({ members }: Ground, role: string): Member => {
  const called = members.find(({ name }) => name === role)
  if (called !== undefined) return called
  const able = members.filter(({ roles }) => roles.split(',').includes(role))
  const member = able.toSorted((a, b) => a.roles.length - b.roles.length)[0]
  if (member === undefined) throw new Error(`no process has the role ${role}`)
  return member
}

async function stopInTime(member: Member, { records }: Ground, what: string): Promise<void> {
  const { tookMs, code } = await member.stop()
  if (tookMs > STOP_WITHIN_MS)
    records.faults.push(`${member.name} took ${Math.round(tookMs)} ms to stop ${what}`)
  if (code !== 0)
    records.faults.push(`${member.name} stopped with ${code} ${what}: ${member.output().slice(-500)}`)
}

export const killed = (role: string, awayMs: number) => async (ground: Ground) => {
  const member = named(ground, role)
  await member.kill()
  await pause(awayMs)
  await member.start()
}
export const frozen = (role: string, ms: number) => async (ground: Ground) => {
  const member = named(ground, role)
  member.freeze()
  await pause(ms)
  member.thaw()
}
export const down = (of: (ground: Ground) => TestServer, ms: number) => async (ground: Ground) => {
  await of(ground).kill()
  await pause(ms)
  await of(ground).restart()
}
/** Nothing passes between a process and a server, and neither is told. */
export const parted = (member: string, server: string, ms: number) => async (ground: Ground) => {
  const line = ground.lines.get(`${member} ${server}`)
  if (line === undefined) throw new Error(`${member} has no line to ${server} that can be cut`)
  line.cut()
  await pause(ms)
  line.heal()
}

/** Not a byte more is written to the disk of a process. */
export const diskFull = (member: string, ms: number) => async (ground: Ground) => {
  const { disk } = named(ground, member)
  if (disk === undefined) throw new Error(`${member} has no disk that can be filled`)
  disk.fill()
  await pause(ms)
  disk.free()
}
/** Nothing is left in the cache of all processes. */
export async function emptied({ redis }: Ground): Promise<void> {
  const client = new Redis(redis.url)
  await client.flushall()
  await client.quit()
}
/** Somebody sets the clock of a process, and sets it right again. */
export const clockSet = (name: string, aheadMs: number, ms: number) => async (ground: Ground) => {
  const member = named(ground, name)
  member.setClock(aheadMs)
  await pause(ms)
  member.setClock(0)
}

/** Everything that a cluster has to live through. */
export function allFaults({ store }: Pick<Ground, 'store'>): readonly Fault[] {
  const { freezeLeader, stallFollowers, partLeader, fillLeader } = store.faults
  return [
    // What the others are to be compared with.
    { name: 'nothing', happen: () => pause(15_000) },
    { name: 'the leader of the store is lost', happen: () => store.loseLeader(4_000) },
    { name: 'the leader of the store stands still', happen: freezeLeader && (() => freezeLeader(20_000)) },
    { name: 'what is appended is shown late', happen: stallFollowers && (() => stallFollowers(2_300, 6)) },
    {
      name: 'the leader of the store is cut off from the others',
      happen: partLeader && (() => partLeader(15_000)),
    },
    { name: 'the disk of the leader of the store is full', happen: fillLeader && (() => fillLeader(10_000)) },
    { name: 'Redis is emptied', happen: emptied },
    { name: 'an engine is killed', happen: killed('engine', 2_000) },
    { name: 'an engine stands still', happen: frozen('engine', 20_000) },
    { name: 'a dispatcher is killed', happen: killed('dispatcher', 2_000) },
    { name: 'a dispatcher stands still', happen: frozen('dispatcher', 30_000) },
    { name: 'a process that answers callers is killed', happen: killed('api', 5_000) },
    { name: 'NATS is down', happen: down(({ nats }) => nats, 20_000) },
    { name: 'Redis is down', happen: down(({ redis }) => redis, 15_000) },
    { name: 'NATS and Redis are silent, and a process stops', happen: silentServers },
    { name: 'the store is silent, and a process stops', happen: silentStore(15_000) },
    { name: 'the clock of a dispatcher is set back', happen: clockSet('dispatcher', -60_000, 10_000) },
    { name: 'the clock of a dispatcher is set forward', happen: clockSet('dispatcher', 60_000, 10_000) },
    { name: 'the clock of an engine is set back', happen: clockSet('engine', -60_000, 10_000) },
    { name: 'each process is restarted', happen: restartEach },
    { name: 'four things at once', happen: atOnce },
    // Last: the simulated market goes by the clock of its process, and has nothing new until the time it ran ahead is over.
    { name: 'the clock of an engine is set forward', happen: clockSet('engine', 60_000, 10_000) },
  ]
}

/** Faults of every test run: shorter, and with fewer processes. */
export const fewFaults = ({ store }: Pick<Ground, 'store'>): readonly Fault[] => [
  { name: 'the leader of the store is lost', happen: () => store.loseLeader(1_500) },
  { name: 'an engine stands still', happen: frozen('engine', 4_000) },
  { name: 'a dispatcher is killed', happen: killed('dispatcher', 500) },
  { name: 'NATS is down', happen: down(({ nats }) => nats, 3_000) },
  { name: 'the store is silent, and a process stops', happen: silentStore(4_000) },
]

async function silentServers(ground: Ground): Promise<void> {
  const { nats, redis, members } = ground
  const [member] = members
  if (member === undefined) return
  await Promise.all([nats.freeze(), redis.freeze()])
  await pause(5_000)
  await stopInTime(member, ground, 'while NATS and Redis were silent')
  await Promise.all([nats.thaw(), redis.thaw()])
  await member.start()
}

export function silentStore(ms: number): (ground: Ground) => Promise<void> {
  return async (ground) => {
    const member = named(ground, 'api')
    const silence = ground.store.silent(ms)
    await pause(500)
    await stopInTime(member, ground, 'while the store was silent')
    await silence
    await member.start()
  }
}

async function restartEach(ground: Ground): Promise<void> {
  for (const member of ground.members) {
    await stopInTime(member, ground, 'in its turn')
    await member.start()
  }
}

async function atOnce(ground: Ground): Promise<void> {
  await Promise.all([
    ground.store.loseLeader(4_000),
    killed('dispatcher', 1_000)(ground),
    frozen('engine', 10_000)(ground),
    pause(2_000).then(() => killed('api', 1_000)(ground)),
  ])
}
