import { describeEventStoreContract } from '../../services/log/event-store.contract.ts'
import { createMemoryLog, openMemoryStore } from './memory-store.ts'

describeEventStoreContract('memory', async () => {
  const log = createMemoryLog()
  let store = openMemoryStore({ now: Date.now, log })
  return {
    store,
    async restart() {
      await store.close()
      store = openMemoryStore({ now: Date.now, log })
      return store
    },
    faults: [],
    close: () => store.close(),
  }
})
