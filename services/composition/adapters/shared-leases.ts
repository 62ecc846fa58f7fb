import { createSoleLeases, type Leases } from '../../log/leases/leases.ts'
import { SharedLeases } from '../../log/leases/shared-leases.ts'
import type { Lifetime } from '../lifetime.ts'
import type { Platform } from './open-platform.ts'

type LeaseDeps = Pick<Lifetime, 'settings' | 'log'> & {
  readonly platform: Platform
}

/** Leases of a group of work: shared with others over a store that is shared, and all of them over one of its own. */
export function openLeases({ settings, platform, log }: LeaseDeps, group: string, shards: number): Leases {
  const report = (error: unknown): void => log.warn({ err: error, group }, 'leases')
  const deps = { ...platform.basics, group, shards, holder: platform.processId, report }
  if (settings.EVENTSTORE_URL === undefined) return createSoleLeases(deps)
  return new SharedLeases({ ...deps, elapsed: () => performance.now() })
}

/** Undefined where no other process can have the store open, so that there is nothing to share. */
export const sharedLeases = (deps: LeaseDeps, group: string, shards: number): Leases | undefined =>
  deps.settings.EVENTSTORE_URL === undefined ? undefined : openLeases(deps, group, shards)
