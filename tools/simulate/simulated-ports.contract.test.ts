import type { ServiceError } from '../../contracts/errors/errors.ts'
import { describeEventStoreContract } from '../../services/log/event-store.contract.ts'
import { describeBusContract } from '../../services/runtime/bus/bus.contract.ts'
import { createInProcessBus } from '../../services/runtime/bus/in-process-bus.ts'
import { describeCacheContract } from '../../services/runtime/cache/cache.contract.ts'
import { createMemoryCache } from '../../services/runtime/cache/memory-cache.ts'
import { createRandom } from '../cluster/random.ts'
import { createNetwork, type Host } from './network.ts'
import { connectBus, connectCache } from './simulated-bus.ts'
import { connectStore, createStoreServer } from './simulated-store.ts'
import type { SimulatedTime } from './time.ts'

/** The suites wait by the real clock; nothing takes longer than a turn of the event loop here. */
const time = {
  now: Date.now,
  after(_milliseconds: number, work: () => void) {
    const immediate = setImmediate(work)
    return () => clearImmediate(immediate)
  },
  sleep: () => new Promise<void>((resolve) => void setImmediate(resolve)),
  note: () => undefined,
} as Pick<SimulatedTime, 'now' | 'after' | 'sleep' | 'note'> as SimulatedTime

const host = (): Host => ({ name: 'process', dead: new AbortController().signal })
const aNetwork = () => createNetwork({ time, random: createRandom(1) })

describeEventStoreContract('simulated', async () => {
  const server = createStoreServer({ time, random: createRandom(1) })
  const network = aNetwork()
  let store = connectStore(server, network, host())
  let loses: 'lostRequests' | 'lostAnswers' | undefined
  const lossy = () => ({
    ...store,
    async append(...append: Parameters<typeof store.append>) {
      if (loses !== undefined) network.faults[loses] = 1
      loses = undefined
      try {
        return await store.append(...append)
      } finally {
        network.heal()
      }
    },
  })
  return {
    store: lossy(),
    async restart() {
      await store.close()
      server.crash()
      server.restart()
      store = connectStore(server, network, host())
      return lossy()
    },
    faults: (['lostRequests', 'lostAnswers'] as const).map((name) => ({
      name,
      arm: () => {
        loses = name
      },
    })),
    close: () => store.close(),
  }
})

describeBusContract('simulated', async () => {
  const faults: ServiceError[] = []
  const server = createInProcessBus({ report: (fault) => void faults.push(fault) })
  const state = { isUp: true, lostAfterwards: 0 }
  const network = aNetwork()
  const open = async () => connectBus(server, state, network, host(), createRandom(1))
  return { bus: await open(), peer: await open(), faults, open, close: () => server.close() }
})

describeCacheContract('simulated', async () => {
  let nowMs = 1_700_000_000_000
  const server = createMemoryCache({ now: () => nowMs })
  const network = aNetwork()
  const open = async () => connectCache(server, { isUp: true, lostAfterwards: 0 }, network, host())
  const pass = async (ms: number): Promise<void> => {
    nowMs += ms
  }
  return { cache: await open(), peer: await open(), pass, open, close: () => server.close() }
})
