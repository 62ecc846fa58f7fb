import { isServiceError } from '../../../contracts/errors.ts'
import type { Origin } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { type BackupDrill, BackupDrilled } from '../../../contracts/proof-events.ts'
import type { StatusContent } from '../../../contracts/status-answer.ts'
import { leaseStream, STORE_DRILLS_STREAM } from '../../../contracts/streams.ts'
import { losses } from '../../../projections/index.ts'
import { newestBackup } from '../../log-operations/backup/newest-backup.ts'
import { appendLogEvent, createStatus } from '../../proof/index.ts'
import { releaseOf } from '../adapters/shared-leases.ts'
import type { Parts } from '../parts.ts'
import type { ServerOptions } from '../server.ts'
import { keepsNoReadModels } from './read-models.ts'

/** Groups of work that processes share by leases. */
const GROUPS = ['log', 'dispatcher', 'settler', 'engine'] as const

/** The public status of the service, and the restores on trial that its operator reports. */
export function statusOf(parts: Parts): ServerOptions['status'] {
  const { settings, platform, projector, transparencyLog, version, signal } = parts
  const reader = projector?.reader(losses)
  return {
    status:
      reader === undefined || transparencyLog === undefined
        ? keepsNoReadModels
        : createStatus({
            version,
            rows: {
              get: (key) => reader.get(key),
              range: (range) => reader.range(range),
              position: () => reader.health().position,
            },
            versions: () => versionsOf(parts),
            backup: () =>
              settings.EVENTSTORE_URL === undefined
                ? newestBackup(platform.directory, platform.logId)
                : undefined,
            sign: transparencyLog.signLine,
            now: Date.now,
          }),
    async recordDrill(data: BackupDrill, meta: Origin) {
      const event = newEvent(BackupDrilled, { id: platform.newId(), data, meta })
      await appendLogEvent(platform.basics, STORE_DRILLS_STREAM, event, signal)
    },
  }
}

/** Processes with a lease, by their release. A log in a folder belongs to one process. */
export async function versionsOf({
  settings,
  platform: { store },
  version,
}: Parts): Promise<StatusContent['service']['versions']> {
  if (settings.EVENTSTORE_URL === undefined) return [{ version, processes: 1 }]
  const holders = new Set<string>()
  try {
    for (const group of GROUPS) {
      for await (const read of store.read(leaseStream(group), { direction: 'backwards', limit: 1 })) {
        const event = decodeEvent(read)
        if (event.type === 'LeaseTaken' || event.type === 'LeaseReleased')
          for (const { holder } of event.data.table) holders.add(holder)
      }
    }
    const counts = new Map<string | null, number>()
    for (const one of holders) {
      const release = releaseOf(one)
      counts.set(release, (counts.get(release) ?? 0) + 1)
    }
    return Array.from(counts, ([release, processes]) => ({ version: release, processes })).toSorted((a, b) =>
      (a.version ?? '').localeCompare(b.version ?? ''),
    )
  } catch (error) {
    // The rest of the status is known without the store.
    if (isServiceError(error, 'store_unavailable')) return null
    throw error
  }
}
