import { ServiceError } from '../../contracts/errors/errors.ts'
import type { Bus } from '../../services/runtime/bus/bus.ts'
import type { Cache } from '../../services/runtime/cache/cache.ts'
import type { Random } from '../cluster/random.ts'
import type { Failures, Host, Network } from './network.ts'

/** A server that may be down, and what of its work gets lost though it said that it has it. */
export interface Wakeful {
  isUp: boolean
  lostAfterwards: number
}

const FAILURES: Failures = {
  unknown: () => new ServiceError('dependency_unavailable', { message: 'no answer in time' }),
  away: () => new ServiceError('dependency_unavailable', { message: 'it cannot be reached' }),
}

/** The bus as one process reaches it over the network; an in-process bus carries the notifications. */
export function connectBus(server: Bus, state: Wakeful, network: Network, host: Host, random: Random): Bus {
  const closing = new AbortController()
  const isDead = AbortSignal.any([closing.signal, host.dead])
  const closedError = (): ServiceError =>
    new ServiceError('dependency_unavailable', { message: 'the bus is closed' })
  const requireUp = (): void => {
    if (!state.isUp) throw FAILURES.away()
  }

  return {
    async notify(subject) {
      if (closing.signal.aborted) throw closedError()
      return network.call(
        host,
        'bus',
        `notify ${subject}`,
        async () => {
          requireUp()
          if (!random.chance(state.lostAfterwards)) await server.notify(subject)
        },
        FAILURES,
      )
    },
    listen(subject, listener, { signal }) {
      if (closing.signal.aborted) throw closedError()
      const isOver = AbortSignal.any([signal, isDead])
      const arrive = async (): Promise<void> => {
        await network.arrival(host, 'bus')
        if (!isOver.aborted) listener()
      }
      server.listen(subject, () => void arrive(), { signal: isOver })
    },
    async request(subject, body, options) {
      if (closing.signal.aborted) throw closedError()
      return network.call(
        host,
        'bus',
        `request ${subject}`,
        async () => {
          requireUp()
          return server.request(subject, body, options)
        },
        FAILURES,
      )
    },
    serve(subject, handler, { signal }) {
      if (closing.signal.aborted) throw closedError()
      server.serve(subject, handler, { signal: AbortSignal.any([signal, isDead]) })
    },
    async health() {
      const ok = state.isUp && !closing.signal.aborted
      return { ok, adapter: 'simulated', detail: ok ? 'up' : 'away' }
    },
    async close() {
      closing.abort()
    },
  }
}

/** The cache as one process reaches it over the network. */
export function connectCache(server: Cache, state: Wakeful, network: Network, host: Host): Cache {
  let isClosed = false
  const ask = <Value>(what: string, work: () => Promise<Value>): Promise<Value> => {
    if (isClosed)
      return Promise.reject(new ServiceError('dependency_unavailable', { message: 'the cache is closed' }))
    return network.call(
      host,
      'cache',
      what,
      async () => {
        if (!state.isUp) throw FAILURES.away()
        return work()
      },
      FAILURES,
    )
  }
  return {
    increment: (key, options) => ask('increment', () => server.increment(key, options)),
    async health() {
      const ok = state.isUp && !isClosed
      return { ok, adapter: 'simulated', detail: ok ? 'up' : 'away' }
    },
    async close() {
      isClosed = true
    },
  }
}
