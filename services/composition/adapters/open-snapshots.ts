import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Projector } from '../../log/projector/projector.ts'
import { tableName } from '../../log/projector/rows-file.ts'
import { openPlace } from '../../log-operations/backup/open-place.ts'
import { beginFromSnapshot } from '../../log-operations/snapshots/begin-from-snapshot.ts'
import {
  keepSnapshots,
  type SnapshotReport,
  takeInThread,
} from '../../log-operations/snapshots/keep-snapshots.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Lifetime } from '../lifetime.ts'
import type { Platform } from './open-platform.ts'
import { ALL_PROJECTIONS, keepsReadModels, ROWS_FILE } from './start-projections.ts'

/** The origin of the rows of a process, and the newest snapshot of them. */
export interface SnapshotsReport extends SnapshotReport {
  /** Undefined where the rows were there already, or are built from the log. */
  readonly begun: Awaited<ReturnType<typeof beginFromSnapshot>>
  /** Why no snapshot, or not the newest, was begun with. */
  readonly refused: string | undefined
}

export type Snapshots = NonNullable<Awaited<ReturnType<typeof openSnapshots>>>

/**
 * Begins the read models of a process that has none with a snapshot, and keeps taking them, where `READ_MODEL_SNAPSHOTS`
 * names a place. @throws ServiceError `config_invalid` for a place that cannot be
 */
export async function openSnapshots({ settings, log, closing, onClose }: Lifetime, platform: Platform) {
  const { READ_MODEL_SNAPSHOTS: address, READ_MODEL_SNAPSHOT_MINUTES: minutes } = settings
  // An engine alone keeps one of them.
  const needsAny = keepsReadModels(settings) || settings.ROLES.includes('engine')
  if (address === undefined || !needsAny) return undefined
  const rows = {
    file: join(platform.directory, ROWS_FILE),
    logId: platform.logId,
    tables: ALL_PROJECTIONS.map(({ name, version }) => tableName(name, version)),
    keys: platform.deriveSecrets('backups'),
  }
  const holder = `${hostname()} ${process.pid} ${randomUUID()}`
  const rest = (milliseconds: number): Promise<void> => sleep(milliseconds, closing)
  let refused: string | undefined
  const begun = await beginFromSnapshot({
    ...rows,
    place: openPlace(address, { environment: process.env, holder, now: Date.now, sleep: rest }),
    store: platform.store,
    refused(what, reason) {
      refused ??= reason
      log.warn({ what, reason }, 'read models do not begin with a snapshot that is there')
    },
  })
  if (begun !== undefined) log.info(begun, 'read models begin with a snapshot')
  let newest: SnapshotReport = {}
  return {
    report: (): SnapshotsReport => ({ begun, refused, ...newest }),
    /** Takes them from now on, while all read models of a projector follow the log. */
    keep(projector: Projector): void {
      const everyMs = minutes * 60_000
      const keeping = keepSnapshots({
        everyMs,
        isWhole: () => projector.health().every(({ state, goesOn }) => state === 'live' && goesOn),
        take: () => takeInThread({ ...rows, address, holder, everyMs }, closing),
        report(report) {
          newest = report
          if (report.problem !== undefined) log.warn(report, 'no snapshot of the read models could be taken')
        },
        now: Date.now,
        sleep: rest,
        signal: closing,
      })
      onClose(() => keeping)
    },
  }
}
