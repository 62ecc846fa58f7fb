import { createSoleLeases, type Leases } from '../../log/leases/leases.ts'
import { SharedLeases } from '../../log/leases/shared-leases.ts'
import type { SharedParts } from '../shared-parts.ts'

type LeaseParts = Pick<SharedParts, 'settings' | 'log' | 'platform'>

/** Leases of a group of work: shared with other processes over a shared store, else all of them are this process's. */
export function openLeases({ settings, platform, log }: LeaseParts, group: string, shards: number): Leases {
  const report = (error: unknown): void => log.warn({ err: error, group }, 'leases')
  const deps = { ...platform.basics, group, shards, holder: platform.processId, report }
  if (settings.EVENTSTORE_URL === undefined) return createSoleLeases(deps)
  return new SharedLeases({ ...deps, elapsed: () => performance.now() })
}

/** Undefined if no other process can have the store open, so that there is nothing to share. */
export const sharedLeases = (parts: LeaseParts, group: string, shards: number): Leases | undefined =>
  parts.settings.EVENTSTORE_URL === undefined ? undefined : openLeases(parts, group, shards)
