import { describeCacheContract } from './cache.contract.ts'
import { createMemoryCache } from './memory-cache.ts'

describeCacheContract('memory', async () => {
  let nowMs = 1_700_000_000_000
  const open = async () => createMemoryCache({ now: () => nowMs })
  const cache = await open()
  const pass = async (ms: number): Promise<void> => {
    nowMs += ms
  }
  return { cache, peer: cache, pass, open, close: () => cache.close() }
})
