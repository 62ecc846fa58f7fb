import type { ServiceError } from '../../contracts/errors/errors.ts'
import type { Random } from '../cluster/random.ts'
import type { SimulatedTime } from './time.ts'

/** Servers that processes reach over the network. */
export type Server = 'store' | 'bus' | 'cache' | 'chain'

/** A process as the network knows it: what it is called, and whether it is still there. */
export interface Host {
  readonly name: string
  /** Aborted when it is killed: nothing that it does has any effect from then on, and nothing it waits for answers. */
  readonly dead: AbortSignal
}

/** Current faults between processes and servers; shares of all requests. */
export interface NetworkFaults {
  lostRequests: number
  lostAnswers: number
  repeated: number
  slow: number
}

export const NO_FAULTS: Readonly<NetworkFaults> = { lostRequests: 0, lostAnswers: 0, repeated: 0, slow: 0 }

/** How a request fails, in words of its port. */
export interface Failures {
  /** It may have happened. */
  readonly unknown: () => ServiceError
  /** It has not. */
  readonly away: () => ServiceError
}

/** Requests between processes and servers: each takes its time, and may be lost, repeated or overtaken. */
export interface Network {
  readonly faults: NetworkFaults
  /** Cuts a process off from a server, or joins them again. */
  cut(host: Host, server: Server, isCut: boolean): void
  heal(): void
  call<Value>(
    host: Host,
    server: Server,
    what: string,
    work: () => Promise<Value>,
    failures: Failures,
  ): Promise<Value>
  /** Resolves when something that a server sends on has come to a process; later while they are cut off. */
  arrival(host: Host, server: Server): Promise<void>
}

/** How long a client waits for an answer before it gives up. */
const PATIENCE_MS = 2_000
const [FAST_MS, SLOW_MS] = [3, 3_000]
/** Behind what a server sends on by itself: what comes meanwhile comes with it. */
const PUSH_MS = 20
/** How often it is looked whether a process is joined again. */
const LOOK_MS = 100

export const never = (): Promise<never> => new Promise(() => undefined)

export function createNetwork({ time, random }: { time: SimulatedTime; random: Random }): Network {
  const cuts = new Set<string>()
  const faults: NetworkFaults = { ...NO_FAULTS }
  const isCut = (host: Host, server: Server): boolean => cuts.has(`${host.name} ${server}`)
  const travel = (): Promise<void> =>
    time.sleep(random.chance(faults.slow) ? random.between(0, SLOW_MS) : random.between(0.1, FAST_MS))

  async function give<Value>(
    host: Host,
    note: string,
    outcome: () => Value | Promise<Value>,
  ): Promise<Value> {
    if (host.dead.aborted) return never()
    time.note(note)
    return outcome()
  }

  return {
    faults,
    cut(host, server, isToBeCut) {
      if (isToBeCut) cuts.add(`${host.name} ${server}`)
      else cuts.delete(`${host.name} ${server}`)
    },
    heal() {
      cuts.clear()
      Object.assign(faults, NO_FAULTS)
    },
    async call(host, server, what, work, { unknown, away }) {
      if (host.dead.aborted) return never()
      const name = `${host.name} ${server} ${what}`
      time.note(name)
      const fail = (error: ServiceError): Promise<never> =>
        give(host, `${name}: ${error.code}`, () => {
          throw error
        })
      await travel()
      if (isCut(host, server) || random.chance(faults.lostRequests)) {
        if (random.chance(0.5)) return fail(away())
        await time.sleep(PATIENCE_MS)
        return fail(unknown())
      }
      let answer: { readonly value: Awaited<ReturnType<typeof work>> } | { readonly error: ServiceError }
      try {
        answer = { value: await work() }
      } catch (error) {
        answer = { error: error as ServiceError }
      }
      // What a server has refused it has refused: it never takes it later. What it took may come to it a second time.
      if ('value' in answer && random.chance(faults.repeated))
        void travel()
          .then(work)
          .catch(() => undefined)
      await travel()
      if (isCut(host, server) || random.chance(faults.lostAnswers)) {
        await time.sleep(PATIENCE_MS)
        return fail(unknown())
      }
      if ('error' in answer) return fail(answer.error)
      const { value } = answer
      return give(host, `${name}: done`, () => value)
    },
    async arrival(host, server) {
      await (random.chance(faults.slow) ? travel() : time.sleep(random.between(0.1, PUSH_MS)))
      while (isCut(host, server)) await time.sleep(LOOK_MS)
      if (host.dead.aborted) await never()
    },
  }
}
