import { startWireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import { describeEventStoreContract } from '../event-store.contract.ts'
import { openEventStoreDbStore } from './eventstoredb-store.ts'

/** The faults after which a caller cannot know whether its append was written. */
const LOSSES = ['lost-before-commit', 'lost-after-commit', 'timeout-after-commit', 'busy'] as const

/** Its moods are the same for a seed; another one is tried with DOUBLE_SEED. */
const SEED = Number(process.env['DOUBLE_SEED'] ?? Math.floor(Math.random() * 1e6))

describeEventStoreContract(`EventStoreDB, over the wire double with seed ${SEED}`, async () => {
  const double = await startWireDouble()
  double.faults.unsettle(SEED)
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
