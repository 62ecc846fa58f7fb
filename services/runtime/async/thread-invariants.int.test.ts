import { Worker } from 'node:worker_threads'
import { expect, test, vi } from 'vitest'
import { brokenInvariants } from '../../../contracts/assert.ts'
import { countInvariantsOfThreads } from './thread-invariants.ts'

const INVARIANT = 'a thread keeps its invariants'
const BREAKS = `
  import { assert } from ${JSON.stringify(new URL('../../../contracts/assert.ts', import.meta.url).href)}
  import { reportInvariantsToMainThread } from ${JSON.stringify(new URL('./thread-invariants.ts', import.meta.url).href)}
  reportInvariantsToMainThread()
  try { assert(false, ${JSON.stringify(INVARIANT)}) } catch {}
`

test('an invariant that breaks in a worker thread is counted in the main thread, once', async () => {
  countInvariantsOfThreads()
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(BREAKS)}`))
  await new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject))
  await vi.waitFor(() => expect(brokenInvariants().get(INVARIANT)).toBe(1))
})
