import type { Leases } from '../../log/leases/leases.ts'

/**
 * Works while this process holds the lease of its group, which has one shard; when the lease is lost, the work has
 * stopped before anybody else is given it. Work that ends by itself gives the lease back.
 *
 * @throws what the leases or the work throw; the work has stopped then
 */
export async function workWhileLeased(
  leases: Leases,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const failing = new AbortController()
  let failure: { readonly error: unknown } | undefined
  let held: { readonly ending: AbortController; readonly done: Promise<void> } | undefined

  async function workUntil(ending: AbortSignal): Promise<void> {
    try {
      await work(ending)
    } catch (error) {
      failure = { error }
    }
    // A lease that nobody works under would keep the work from everybody.
    if (!ending.aborted) failing.abort()
  }
  const gained = async (): Promise<void> => {
    const ending = new AbortController()
    held = { ending, done: workUntil(ending.signal) }
  }
  const lost = async (): Promise<void> => {
    held?.ending.abort()
    await held?.done
    held = undefined
  }
  try {
    await leases.run({ gained, lost }, AbortSignal.any([signal, failing.signal]))
  } finally {
    await lost()
  }
  if (failure !== undefined) throw failure.error
}
