import { startNodes } from './own-nodes.ts'
import { realStore, type StoreUnderTest, startDouble } from './store-under-test.ts'

/** The store that is asked for: nodes of an own command, the one of EVENTSTORE_URL, or a double. */
export async function openStore(
  storeNode: string | undefined,
  say: (line: string) => void,
): Promise<StoreUnderTest> {
  const { EVENTSTORE_URL, STORE_NODES = '' } = process.env
  if (storeNode !== undefined) return startNodes(storeNode, say)
  return EVENTSTORE_URL === undefined ? startDouble() : realStore(EVENTSTORE_URL, STORE_NODES)
}
