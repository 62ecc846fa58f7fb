import type { Logger } from 'pino'
import { createLeases } from '../../log/lease/create-leases.ts'
import { createSoleLeases } from '../../log/lease/create-sole-leases.ts'
import type { Leases } from '../../log/lease/leases.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import type { Platform } from './open-platform.ts'

export interface LeaseDeps {
  readonly settings: Pick<Settings, 'EVENTSTORE_URL'>
  readonly platform: Platform
  /** Name of the work that is shared. */
  readonly group: string
  readonly shards: number
  readonly log: Logger
}

/** Leases of this process: shared with others over a store that is shared, and all of them over one of its own. */
export function openLeases({ settings, platform, group, shards, log }: LeaseDeps): Leases {
  const { store, newId, processId } = platform
  const report = (error: unknown): void => log.warn({ err: error, group }, 'leases')
  const deps = { store, group, shards, holder: processId, newId, report }
  if (settings.EVENTSTORE_URL === undefined) return createSoleLeases(deps)
  return createLeases({ ...deps, elapsed: () => performance.now(), now: Date.now, sleep })
}

/** Undefined where no other process can have the store open, so that there is nothing to share. */
export const sharedLeases = (deps: LeaseDeps): Leases | undefined =>
  deps.settings.EVENTSTORE_URL === undefined ? undefined : openLeases(deps)
