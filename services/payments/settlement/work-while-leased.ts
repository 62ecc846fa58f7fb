import type { Leases } from '../../platform/lease/leases.ts'

/**
 * Works while this process holds the lease of its group, which has one shard; when the lease is lost, the work has
 * stopped before anybody else is given it.
 *
 * @throws what the leases throw; the work has stopped then
 */
export async function workWhileLeased(
  leases: Leases,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let held: { readonly ending: AbortController; readonly done: Promise<void> } | undefined
  const gained = async (): Promise<void> => {
    const ending = new AbortController()
    held = { ending, done: work(ending.signal) }
  }
  const lost = async (): Promise<void> => {
    held?.ending.abort()
    await held?.done
    held = undefined
  }
  try {
    await leases.run({ gained, lost }, signal)
  } finally {
    await lost()
  }
}
