import type { Random } from '../cluster/random.ts'
import { NO_FAULTS } from './network.ts'
import type { Mood } from './receivers.ts'
import type { Place, World } from './world.ts'

/** Faults of a world, each for a while. */
export interface FaultsOptions {
  readonly world: World
  readonly random: Random
  readonly mood: Mood
  /** Names of those that this seed has; a world with all of them at a time hardly gets anything done. */
  readonly kinds: ReadonlySet<FaultKind>
  readonly isOpen: () => boolean
}

export const FAULT_KINDS = [
  'kill',
  'stop',
  'store crash',
  'store crash in a sync',
  'full disk',
  'failing disk',
  'lossy network',
  'partition',
  'clock',
  'bus',
  'cache',
  'fork',
  'endpoints',
] as const

export type FaultKind = (typeof FAULT_KINDS)[number]

/** How far clocks go wrong: also by more than all is given to come to its end, since nothing waits by them. */
const CLOCKS_AHEAD_MS = [-600_000, -60_000, -1_000, 0, 1_000, 60_000, 600_000]
const SERVERS = ['store', 'store', 'bus', 'cache', 'chain'] as const

/** Lets one fault after the other begin, and each end by itself, until it is closed. */
// oxlint-disable-next-line max-lines-per-function -- a fault for each name, in one table
export async function letFaultsHappen(options: FaultsOptions): Promise<void> {
  const { world, random, mood, kinds, isOpen } = options
  const { time, server, network, bus, cache, chain } = world
  const aWhile = (most: number): Promise<void> => time.sleep(random.between(100, most))

  async function restart(place: Place, end: () => void | Promise<void>): Promise<void> {
    await end()
    await aWhile(15_000)
    await place.start()
  }
  const happen: Readonly<Record<FaultKind, () => Promise<void>>> = {
    kill() {
      const place = random.pick(world.places)
      return restart(place, place.kill)
    },
    stop() {
      const place = random.pick(world.places)
      return restart(place, place.stop)
    },
    async 'store crash'() {
      server.crash()
      await aWhile(6_000)
      server.restart()
    },
    async 'store crash in a sync'() {
      server.crashInSync()
      await aWhile(6_000)
      server.restart()
    },
    async 'full disk'() {
      server.disk = 'full'
      await aWhile(8_000)
      server.disk = 'well'
    },
    async 'failing disk'() {
      server.disk = 'failing'
      await aWhile(4_000)
      server.disk = 'well'
    },
    async 'lossy network'() {
      Object.assign(network.faults, {
        lostRequests: random.between(0, 0.3),
        lostAnswers: random.between(0, 0.3),
        repeated: random.between(0, 0.3),
        slow: random.between(0, 0.3),
      })
      await aWhile(8_000)
      Object.assign(network.faults, NO_FAULTS)
    },
    async partition() {
      const place = random.pick(world.places)
      const from = random.pick(SERVERS)
      const host = { name: place.name, dead: new AbortController().signal }
      time.note(`${place.name} is cut off from the ${from}`)
      network.cut(host, from, true)
      await aWhile(25_000)
      network.cut(host, from, false)
    },
    async clock() {
      const place = random.pick(world.places)
      place.aheadMs = random.pick(CLOCKS_AHEAD_MS)
      time.note(`the clock of ${place.name} is ${place.aheadMs} ms ahead`)
    },
    async bus() {
      bus.lostAfterwards = random.between(0, 1)
      bus.isUp = random.chance(0.5)
      await aWhile(10_000)
      Object.assign(bus, { isUp: true, lostAfterwards: 0 })
    },
    async cache() {
      cache.isUp = false
      await aWhile(10_000)
      cache.isUp = true
    },
    async fork() {
      chain.reorganise()
    },
    async endpoints() {
      Object.assign(mood, { refuses: random.between(0, 1), losesAnswers: random.between(0, 0.3) })
      await aWhile(10_000)
      Object.assign(mood, { refuses: 0, losesAnswers: 0 })
    },
  }

  const drawn = FAULT_KINDS.filter((kind) => kinds.has(kind))
  while (isOpen() && drawn.length > 0) {
    await time.sleep(random.between(200, 6_000))
    if (!isOpen()) break
    const kind = random.pick(drawn)
    time.note(`fault: ${kind}`)
    // It ends by itself, or is ended with all others.
    void happen[kind]()
  }
}

/** Everything works from here on. */
export async function healAll({ world, mood }: Pick<FaultsOptions, 'world' | 'mood'>): Promise<void> {
  const { server, network, bus, cache, places } = world
  server.disk = 'well'
  if (!server.isUp) server.restart()
  network.heal()
  Object.assign(bus, { isUp: true, lostAfterwards: 0 })
  Object.assign(cache, { isUp: true })
  Object.assign(mood, { refuses: 0, losesAnswers: 0 })
  for (const place of places) place.aheadMs = 0
  await Promise.all(places.map((place) => place.start()))
}
