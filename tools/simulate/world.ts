import type { RecoverSigner } from '../../services/payments/verification/recover-signer.ts'
import { createInProcessBus } from '../../services/runtime/bus/in-process-bus.ts'
import { createMemoryCache } from '../../services/runtime/cache/memory-cache.ts'
import type { Random } from '../cluster/random.ts'
import { type Machine, type Service, startMachine } from './machine.ts'
import { createMarket, type Market } from './market.ts'
import { createNetwork, type Network } from './network.ts'
import type { Receivers } from './receivers.ts'
import type { Seams } from './seams.ts'
import { connectBus, connectCache, type Wakeful } from './simulated-bus.ts'
import { createSimulatedChain, type SimulatedChain } from './simulated-chain.ts'
import { type Acknowledged, connectStore, createStoreServer, type StoreServer } from './simulated-store.ts'
import { createTablesDisk } from './simulated-tables.ts'
import type { SimulatedTime } from './time.ts'

/** A connection that broke, as a caller sees it: what became of the request is not known. */
export class ConnectionLost extends Error {}

/** A place where one process runs at a time, with a disk and a clock of its own. */
export interface Place {
  readonly name: string
  /** How much its clock is ahead, milliseconds. */
  aheadMs: number
  /** Undefined while nothing answers there. */
  service(): Service | undefined
  /** Starts a process, unless one runs; resolves once it serves, or was killed before. */
  start(): Promise<void>
  /** Everything but the disk is gone, at this instant. */
  readonly kill: () => void
  /** Ends it as an operator does. */
  readonly stop: () => Promise<void>
  /** Asks the process for something, as a caller does. @throws ConnectionLost where it dies meanwhile, or is not there */
  ask<Value>(work: (service: Service) => Promise<Value>): Promise<Value>
}

/** Servers, and the places around them. */
export interface World {
  readonly time: SimulatedTime
  readonly server: StoreServer
  readonly network: Network
  readonly chain: SimulatedChain
  readonly market: Market
  readonly bus: Wakeful
  readonly cache: Wakeful
  readonly places: readonly Place[]
  /** Appends that processes were told are in the log. */
  readonly acknowledged: Acknowledged[]
  /** All that they asked for, told or not. */
  readonly asked: Omit<Acknowledged, 'result'>[]
  /** Faults that need no look at the log. */
  readonly faults: string[]
}

// oxlint-disable-next-line max-lines-per-function -- the places of a world share its clock, its network and its faults
export function createWorld(options: {
  readonly time: SimulatedTime
  readonly random: Random
  readonly places: number
  readonly series: Market['series']
  readonly marketSpeed: number
  readonly receivers: (faults: string[]) => Receivers
  readonly recovery: RecoverSigner
  readonly seams: Seams
}): World {
  const { time, random, seams, recovery } = options
  const network = createNetwork({ time, random: random.fork('network') })
  const server = createStoreServer({
    time,
    random: random.fork('disk'),
    ...(seams.server && { seams: seams.server }),
  })
  const chain = createSimulatedChain({ time, random: random.fork('chain') })
  const faults: string[] = []
  const receivers = options.receivers(faults)
  const messages = createInProcessBus({ report: (fault) => faults.push(String(fault)) })
  const counters = createMemoryCache({ now: time.now })
  const bus: Wakeful = { isUp: true, lostAfterwards: 0 }
  const cache: Wakeful = { isUp: true, lostAfterwards: 0 }
  const acknowledged: Acknowledged[] = []
  const asked: Omit<Acknowledged, 'result'>[] = []
  const market = createMarket(time, options.series, options.marketSpeed)

  // oxlint-disable-next-line max-lines-per-function -- a place and what may happen to it, told in one piece
  function createPlace(number: number): Place {
    const name = `p${number}`
    const draws = random.fork(name)
    const disk = createTablesDisk()
    let dying = new AbortController()
    let service: Service | undefined
    let isStarted = false

    function machine(): Machine {
      const host = { name, dead: dying.signal }
      const inner = connectStore(server, network, host)
      return {
        ...host,
        ahead: () => place.aheadMs,
        time,
        random: draws,
        store: {
          ...inner,
          async append(stream, events, expectation) {
            asked.push({ stream, events })
            const result = await inner.append(stream, events, expectation)
            acknowledged.push({ stream, events, result })
            return result
          },
        },
        bus: connectBus(messages, bus, network, host, draws),
        cache: connectCache(counters, cache, network, host),
        tables: disk.open(host),
        chain: chain.connect(network, host),
        sender: receivers.connect(host),
        recovery,
        market,
        seams,
        onFault(error) {
          if (!host.dead.aborted)
            faults.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
        },
      }
    }

    const place: Place = {
      name,
      aheadMs: 0,
      service: () => service,
      async start() {
        if (isStarted) return
        isStarted = true
        dying = new AbortController()
        const { signal } = dying
        time.note(`${name} starts`)
        const isDead = new Promise<undefined>((resolve) =>
          signal.addEventListener('abort', () => resolve(undefined)),
        )
        service = await Promise.race([startMachine(machine()), isDead])
      },
      kill() {
        if (!isStarted) return
        time.note(`${name} is killed`)
        isStarted = false
        service = undefined
        dying.abort()
        disk.crash(draws)
      },
      async stop() {
        const before = service
        if (before === undefined) return place.kill()
        time.note(`${name} stops`)
        service = undefined
        const { signal } = dying
        await Promise.race([before.stop(), time.sleep(STOP_WITHIN_MS, signal)])
        place.kill()
      },
      async ask(work) {
        const asking = service
        const { signal } = dying
        if (asking === undefined) throw new ConnectionLost('nobody answers')
        const lost = Promise.withResolvers<never>()
        const lose = (): void => lost.reject(new ConnectionLost('the connection broke'))
        signal.addEventListener('abort', lose)
        const cancel = time.after(CALLER_PATIENCE_MS, lose)
        try {
          return await Promise.race([work(asking), lost.promise])
        } finally {
          cancel()
          signal.removeEventListener('abort', lose)
        }
      },
    }
    return place
  }

  const places = Array.from({ length: options.places }, (_, index) => createPlace(index + 1))
  return { time, server, network, chain, market, bus, cache, places, acknowledged, asked, faults }
}

const STOP_WITHIN_MS = 20_000
const CALLER_PATIENCE_MS = 40_000
