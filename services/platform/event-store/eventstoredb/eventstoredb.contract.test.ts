import { describeEventStoreContract } from '../event-store.contract.ts'
import { startWireDouble } from '../wire-double/wire-double.ts'
import { openEventStoreDbStore } from './eventstoredb-store.ts'

/** The faults after which a caller cannot know whether its append was written. */
const LOSSES = ['lost-before-commit', 'lost-after-commit', 'timeout-after-commit', 'busy'] as const

describeEventStoreContract('EventStoreDB, over the wire double', async () => {
  const double = await startWireDouble()
  const open = () => openEventStoreDbStore({ connectionString: double.connectionString })
  let store = open()
  return {
    store,
    async restart() {
      await store.close()
      await double.restart()
      store = open()
      return store
    },
    faults: LOSSES.map((fault) => ({ name: fault, arm: () => double.faults.failNextAppend(fault) })),
    async close() {
      await store.close()
      double.stop()
    },
  }
})
