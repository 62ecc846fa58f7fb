import { countBroken, countBrokenBy } from '../../../contracts/assert.ts'

const CHANNEL = 'broken-invariants'

/** Called once in a worker thread: the invariants that break there count in the main thread, which has the metrics. */
export function reportInvariantsToMainThread(): void {
  countBrokenBy((invariant) => {
    const channel = new BroadcastChannel(CHANNEL)
    channel.postMessage(invariant)
    channel.close()
  })
}

let isCounting = false

/** Called in the main thread: counts the invariants that break in worker threads, too. */
export function countInvariantsOfThreads(): void {
  if (isCounting) return
  isCounting = true
  const channel = new BroadcastChannel(CHANNEL)
  channel.addEventListener('message', (event) =>
    countBroken(String((event as unknown as { readonly data: unknown }).data)),
  )
  channel.unref()
}
